import Decorum
import Foundation
import Testing

/// Seventy known mistakes in stacks of HTTP clients, and why none of them goes unnoticed.
@Suite struct HazardCatalogueTests {
    /// The way in which a mistake is dealt with.
    enum Answer: Sendable {
        /// The check of a stack finds it.
        case found([Hazard])
        /// It cannot happen, as tests show on the wire.
        case impossible(tests: [String])
        /// It shows only while requests are sent.
        case atRunTime(String)
        /// It needs a layer that does not exist.
        case needs(layer: String)
    }

    struct Row: Sendable {
        let number: Int
        let mistake: String
        let answer: Answer

        init(_ number: Int, _ mistake: String, _ answer: Answer) {
            self.number = number
            self.mistake = mistake
            self.answer = answer
        }
    }

    static let security = [
        Row(1, "a credential without an origin inside of redirects", .found([.credentialsForEveryOrigin])),
        Row(
            2, "a secret field that redirects do not know",
            .impossible(tests: [
                "A redirection inside drops the secret before another origin", "A log inside does not show the secret",
                "A cache inside separates the responses of two users",
            ])),
        Row(
            3, "a secret comes back after two redirects",
            .impossible(tests: ["Another origin gets no credentials, and a redirection back restores none"])),
        Row(4, "a cache over credentials without a principal", .found([.principalMissing, .principalSetTooLate])),
        Row(
            5, "shared requests over credentials without a principal",
            .impossible(tests: ["Without a principal nothing is shared above a layer that adds credentials"])),
        Row(
            6, "a list of allowed hosts outside of redirects",
            .found([.hostPolicyOutsideOfRedirections, .hostChangedTooLate])),
        Row(7, "a log without redaction", .found([.secretsRecorded])),
        Row(8, "a redactor inside of the log", .impossible(tests: ["A planted secret never reaches the log"])),
        Row(
            9, "a cookie jar outside of redirects",
            .found([.cookiesOutsideOfRedirections, .cookiesInsideOfCache])),
        Row(
            10, "a cookie jar outside of a cache",
            .impossible(tests: ["A stored answer sets no cookie again"])),
        Row(
            11, "a presigned query in a log",
            .impossible(tests: ["A presigned query is sent, and no layer shows its values"])),
        Row(12, "a refresh that sends through its own stack", .found([.refreshThroughItself])),
        Row(13, "fields that allow storing, written inside of a cache", .found([.cacheOutsideOfChanges])),
    ]

    static let signatures = [
        Row(14, "a signature outside of retries", .found([.signatureOutsideOfRetries, .credentialsOutsideOfRetries])),
        Row(15, "a signature outside of waits", .found([.signatureOutsideOfWaits])),
        Row(16, "a signature outside of changes", .found([.signatureOutsideOfChanges])),
        Row(17, "a signature outside of redirects", .found([.signatureOutsideOfRedirections])),
        Row(18, "a digest outside of compression", .needs(layer: "content digest")),
        Row(19, "the verification of a digest outside of decompression", .needs(layer: "content digest")),
        Row(20, "errors of statuses inside of a clock correction", .needs(layer: "clock correction")),
        Row(21, "Digest authentication outside of redirects", .needs(layer: "Digest")),
    ]

    static let retries = [
        Row(22, "retries outside of retries", .found([.retriesMultiply])),
        Row(23, "retries and hedges without one budget", .needs(layer: "hedging")),
        Row(24, "retries outside of redirects", .found([.retriesOutsideOfRedirections])),
        Row(25, "retries outside of a fallback", .found([.retriesOutsideOfAnswers])),
        Row(26, "retries outside of a cache", .found([.retriesOutsideOfCache, .retriesOutsideOfSharing])),
        Row(27, "errors of statuses inside of what reads the status", .found([.statusErrorTooEarly])),
        Row(28, "a key or an identifier inside of retries", .found([.keyForEachAttempt, .valueForEachAttempt])),
        Row(29, "a POST that is repeated without a key", .found([.unsafeMethodsRepeated])),
        Row(
            30, "content that can be read once, sent again",
            .impossible(tests: ["A body that is read once is sent once"])),
        Row(
            31, "a retry after a part of the content has been read",
            .impossible(tests: [
                "Content that breaks after the head is not asked for again, so that no two parts are joined"
            ])),
        Row(
            32, "a retry while the last response is still open",
            .impossible(tests: ["A discarded body is drained or dropped before the wait"])),
        Row(
            33, "a retry before the server allows it",
            .impossible(tests: [
                "A Retry-After above the maximum is returned at once",
                "No client comes earlier than asked, or later than half of it or 20 seconds",
            ])),
        Row(34, "a wait of hours", .found([.longWait, .manySends, .retriesWithoutBudget])),
        Row(35, "no deadline outside of retries", .found([.unlimitedCall, .callLimitTooFarIn])),
        Row(
            36, "the time of an attempt for a whole call",
            .found([.attemptLimitOutsideOfRetries, .attemptLimitAboveCall])),
        Row(37, "the time of an attempt outside of a breaker", .needs(layer: "breaker")),
        Row(38, "a breaker outside of retries", .needs(layer: "breaker")),
        Row(39, "retries of the error of a breaker", .needs(layer: "breaker")),
        Row(40, "a breaker outside of a cache", .needs(layer: "breaker")),
        Row(41, "a breaker for several origins", .needs(layer: "breaker")),
        Row(42, "a breaker with a short window", .needs(layer: "breaker")),
        Row(43, "hedges after the deadline", .needs(layer: "hedging")),
        Row(44, "hedges over HTTP/1.1", .needs(layer: "hedging")),
        Row(45, "one store twice in a stack", .found([.stateUsedTwice])),
    ]

    static let limits = [
        Row(46, "a rate limit outside of retries", .found([.pausesOutsideOfRetries, .pausesOutsideOfCache])),
        Row(47, "a permit that is held while retries wait", .needs(layer: "concurrency limit")),
        Row(48, "a permit that is held until the content is read", .needs(layer: "concurrency limit")),
        Row(49, "two rate limits one after the other", .needs(layer: "rate limit")),
        Row(50, "a queue that refuses too early", .needs(layer: "queue")),
    ]

    static let caches = [
        Row(51, "a cache outside of decompression", .found([.cacheOutsideOfDecoding])),
        Row(
            52, "fields that are added inside of a cache",
            .found([.fieldsInsideOfCache, .contentChangedOutsideOfCache, .originSetTooLate])),
        Row(53, "a cache outside of redirects", .found([.cacheOutsideOfRedirections])),
        Row(
            54, "identifiers that keep equal requests apart",
            .impossible(tests: ["Identifiers do not keep requests apart that are sent as one"])),
        Row(
            55, "a shared cache for one user's responses",
            .impossible(tests: ["Two principals and two credentials never see each other's responses"])),
        Row(56, "content that is changed inside of a cache", .found([.cacheOutsideOfChanges])),
        Row(57, "invented answers inside of a cache", .found([.cacheOutsideOfInvention])),
        Row(58, "unsafe requests that pass a cache by", .needs(layer: "router")),
        Row(
            59, "many misses at the same time",
            .impossible(tests: ["Fifty concurrent misses share one request and one stored response"])),
        Row(
            60, "a validation that ends with its caller",
            .impossible(tests: [
                "A validation in the background outlives the caller, and stores a streamed body",
                "A validation in the background has none of what belongs to the call",
            ])),
        Row(
            61, "a slow reader who delays all others",
            .impossible(tests: ["A slow reader has a backlog up to the limit, and fails when the patience ends"])),
        Row(
            62, "a transport that follows redirects by itself",
            .impossible(tests: ["An own client of the app is unknown to the check, and one of a configuration is not"])),
    ]

    static let observation = [
        Row(63, "one span for all attempts", .needs(layer: "tracing")),
        Row(
            64, "an observer inside of a deadline",
            .impossible(tests: ["An observer inside of a deadline sees a failure, and no cancellation"])),
        Row(65, "attempts without calls in a log", .found([.callsUnseen])),
        Row(
            66, "a log that holds whole bodies",
            .impossible(tests: ["The start of each body is shown, in constant memory"])),
        Row(67, "faults outside of the layers under test", .needs(layer: "faults")),
        Row(68, "a cassette around layers", .found([.layersRecorded])),
        Row(
            69, "recordings that are matched with secrets",
            .impossible(tests: ["No planted secret is in the file, and the flow replays with other secrets"])),
        Row(70, "a test that waits by the clock of the system", .found([.testWaits])),
    ]

    static let rows = security + signatures + retries + limits + caches + observation

    @Test func `Each of the seventy mistakes is dealt with, and each hazard is in a row or is told of`() throws {
        #expect(Self.rows.map(\.number) == Array(1...70))
        var found = Set<Hazard>()
        for case .found(let hazards) in Self.rows.map(\.answer) { found.formUnion(hazards) }
        found.formUnion([.principalOfChangingUsers, .unboundedMemory, .sharingOutsideOfCache, .needlessAcceptance])
        found.formUnion([.layerTwice, .baseURLCut, .attemptsUnseen, .unencryptedCredentials])
        let declared = try SourceText.file("Sources/Decorum/Composition/Findings/Hazard.swift").names(
            after: "public static let ")
        #expect(declared.count > 30 && Set(declared) == Set(found.map(\.name)))
    }

    @Test func `Each mistake that cannot happen has tests that show it`() throws {
        let tests = try SourceText.all(below: "Tests")
        for row in Self.rows {
            guard case .impossible(let names) = row.answer else { continue }
            for name in names { #expect(tests.text.contains("func `\(name)`") == true, "\(row.number): \(name)") }
        }
    }

    @Test func `Each hazard has a test that shows its harm`() throws {
        let tests = try SourceText.all(below: "Tests/DecorumCompositionTests/Hazards")
        let told: Set<Hazard> = [.needlessAcceptance]
        for name in try SourceText.file("Sources/Decorum/Composition/Findings/Hazard.swift").names(
            after: "public static let ")
        where !told.contains(Hazard(name)) {
            #expect(tests.contains("of: .\(name),"), "\(name)")
        }
    }

    @Test func `The documentation lists each hazard`() throws {
        let page = try SourceText.file("Sources/Decorum/Decorum.docc/checking-a-stack.md").text
        let names = try SourceText.file("Sources/Decorum/Composition/Findings/Hazard.swift").names(
            after: "public static let ")
        for name in names { #expect(page.contains("| ``Hazard/\(name)`` |"), "\(name)") }
    }
}
