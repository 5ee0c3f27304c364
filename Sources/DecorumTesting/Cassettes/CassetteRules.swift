public import Decorum
public import Foundation
public import HTTPTypes

/// The rules by which a cassette matches, redacts, records and plays.
///
/// ```swift
/// extension CassetteRules {
///     static let poller = CassetteRules(matching: [.method, .url(ignoring: "ts"), .body], repeats: .last)
/// }
/// ```
public struct CassetteRules: Sendable {
    /// The reaction to a request whose recorded interactions have all been played.
    public enum Repeats: Sendable, Hashable {
        /// The next request is a miss.
        case once
        /// The last interaction is played again, for clients that poll.
        case last
    }

    /// The order in which requests may come.
    public enum Order: Sendable, Hashable {
        /// Requests that match each other come in the order in which they were recorded; all others in any order.
        case any
        /// The order in which they were recorded.
        case strict
    }

    /// The reaction to interactions that were never played.
    public enum Unused: Sendable, Hashable {
        /// They fail the test.
        case fail
        /// The test framework shows a warning, if it has warnings.
        case warn
        /// Nothing.
        case allow
    }

    /// The form in which content with a content coding is recorded and matched.
    public enum Content: Sendable, Hashable {
        /// Without its content coding, so that it is readable and its secrets are found.
        case decoded
        /// As it was transferred, to test the layer that undoes a content coding.
        ///
        /// Coded content is not redacted. Content that can be decoded is searched for secrets all the same, and is not
        /// written if anything in it would have to be redacted.
        case coded
    }

    /// The speed at which content is played.
    public enum Timing: Sendable, Hashable {
        /// At once, in the chunks that were recorded.
        case immediate
        /// With the pauses between chunks that were recorded, on the cassette's clock; the deadlines and the idle timeout of a
        /// request end a pause as they do over a network.
        case recorded
        /// With the recorded pauses, multiplied by a factor.
        case scaled(Double)
    }

    /// The rules by which a request matches a recorded one; by default, the method, the URL and the body.
    public var matching: [MatchingRule]
    /// The values that count as secret when a cassette is written and matched; by default, the standard redaction.
    public var redaction: Redaction
    /// The reaction to a request whose recorded interactions have all been played; by default, a miss.
    public var repeats: Repeats
    /// The order in which requests may come; by default, any.
    public var order: Order
    /// The reaction to interactions that were never played, in ``CassetteMode/replay``; by default, they fail the test.
    public var unused: Unused
    /// The speed at which content is played; by default, at once.
    public var timing: Timing
    /// The form in which content with a content coding, such as gzip, is recorded and matched; by default, decoded.
    ///
    /// Content that this system cannot decode is not recorded: ``Cassette/finish()`` throws, unless the rules ask for
    /// ``Content/coded`` or ``beforeRecording`` replaces it.
    public var content: Content
    /// Response fields that are not recorded, because they change each time and carry no information.
    ///
    /// A request keeps such a field, and a new value of it, such as a new signature, does not change a recording. In replay, the
    /// answers lack these fields, so name none that the code or a layer reads.
    public var ignoredFields: Set<HTTPField.Name>
    /// The largest number of bytes of one body that is recorded or compared; by default, 64 MiB.
    public var bodyLimit: Int
    /// The part of a response that is recorded although the test has dropped it.
    public var remainder: Remainder
    /// The age from which on a recording is outdated, and the reaction to it; by default, no recording is outdated.
    public var expiry: Expiry?
    /// The largest size of a cassette with the files beside it, in bytes; by default, 100 MB, above which GitHub refuses a
    /// file.
    ///
    /// A larger one is not written: ``Cassette/finish()`` throws ``CassetteError``, which names the largest interactions.
    public var sizeLimit: Int
    /// The hosts whose requests pass the cassette in every mode: they are sent, and neither played nor recorded.
    public var passedHosts: Hosts
    /// The hosts to which a request may be sent in ``CassetteMode/replay`` if it has no recording, which is then no miss.
    public var liveHosts: Hosts
    /// Whether only safe methods are sent: `GET`, `HEAD`, `OPTIONS` and `TRACE` (RFC 9110, section 9.2.1); by default,
    /// all are.
    ///
    /// A request with another method that would be sent throws ``RequestNotSentError``, except to ``passedHosts``.
    public var refusesUnsafeMethods: Bool
    /// Decides on a request without a recording in ``CassetteMode/replay``; nil for ``MissReaction/fail``.
    ///
    /// The request is redacted.
    public var onMiss: (@Sendable (_ miss: CassetteMissError, _ request: RecordedRequest) -> MissReaction)?
    /// Texts and places that stay in the cassette as they are, such as a test's own made-up token.
    public var allowedSecrets: [SecretAllowance]
    /// Receives the values that were replaced by their names each time a cassette is written; by default, they are listed
    /// on standard error.
    ///
    /// In a suite whose tests share a file, each value of the file comes once.
    public var reportReplacements: (@Sendable ([SecretReplacement], _ file: URL) -> Void)?
    /// Receives, for each request that is looked for in the cassette, the recording that answered it and the reasons why
    /// others did not; with nil, explanations are not reported, or with `CASSETTE=explain` written to standard error.
    public var reportExplanations: (@Sendable (RequestExplanation) -> Void)?
    /// Whether a test that replays a file of another tool is told which parts had to be guessed, changed or left out; by
    /// default, it is.
    public var reportsLosses = true
    /// Rewrites an interaction before it is recorded, or keeps it off the cassette by returning nil.
    public var beforeRecording: (@Sendable (Interaction) -> Interaction?)?
    /// Rewrites an interaction before it is matched, or leaves it out by returning nil.
    ///
    /// An incoming request is rewritten too, as an interaction without a response.
    public var beforeMatching: (@Sendable (Interaction) -> Interaction?)?
    /// Further formats in which a cassette may be; by default, ``ImportedCassette`` decides alone.
    ///
    /// `rules.formats = .known`, with the module `DecorumCassetteImport`, adds the formats of other recorders.
    public var formats: [any ForeignFormat] = []
    /// The environment variables whose values may be secrets; nil for the variables of the process.
    package var environment: [String: String]?

    /// Creates rules.
    public init(
        matching: [MatchingRule] = [.method, .url, .body], redaction: Redaction = .standard, repeats: Repeats = .once,
        order: Order = .any, unused: Unused = .fail, timing: Timing = .immediate
    ) {
        self.matching = matching
        self.redaction = redaction
        self.repeats = repeats
        self.order = order
        self.unused = unused
        self.timing = timing
        content = .decoded
        ignoredFields = Self.volatileFields
        bodyLimit = 64 << 20
        remainder = Remainder()
        sizeLimit = 100_000_000
        passedHosts = []
        liveHosts = []
        refusesUnsafeMethods = false
        allowedSecrets = []
        reportReplacements = SecretReplacement.write
    }

    /// The response fields that change each time and carry no information.
    static let volatileFields = Set(
        [
            "Alt-Svc", "CF-Ray", "NEL", "Report-To", "Reporting-Endpoints", "Server-Timing", "X-Amz-Cf-Id",
            "X-Amz-Request-Id", "X-Amzn-Trace-Id", "X-GitHub-Request-Id", "X-Request-Id", "X-Runtime", "X-Timer",
        ].compactMap { HTTPField.Name($0) })

    /// The request fields that name one request or one attempt, or its time, and so are often others in each run.
    static let volatileRequestFields = Set(
        ["Idempotency-Key", "X-Request-Id", "X-Correlation-Id", "Traceparent", "Tracestate", "Date"]
            .compactMap { HTTPField.Name($0) })
}

extension CassetteRules {
    /// The limits for content that is recorded although the test has dropped it, or has not read it to its end.
    ///
    /// The recorder reads on by itself, so that a later assertion on the content finds it. Content that goes on beyond a
    /// limit, such as an endless event stream, ends there in the recording. A test that reads further when it is replayed
    /// fails with ``RecordingEndedError``.
    public struct Remainder: Sendable {
        /// The largest number of bytes behind the part that the test has read; by default, 4 MiB.
        public var bytes: Int
        /// The longest time after the test has dropped the content, or has ended; by default, 5 seconds.
        public var time: Duration
        /// The clock for that time, which is not the cassette's, since a server does not wait for a clock of a test.
        public var clock: any DatedClock

        /// Creates limits.
        public init(bytes: Int = 4 << 20, time: Duration = .seconds(5), clock: any DatedClock = SystemClock()) {
            self.bytes = bytes
            self.time = time
            self.clock = clock
        }

        func wait(for event: @escaping @Sendable () async throws -> Void) async {
            try? await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await event() }
                group.addTask { try await clock.sleep(for: time) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// An age from which on a recording is outdated, and the reaction to it.
    ///
    /// ```swift
    /// var rules = CassetteRules()
    /// rules.expiry = .init(after: .seconds(90 * 86_400), .recordAnew)
    /// ```
    ///
    /// Days are counted by the cassette's clock. An interaction without a day is never outdated.
    public struct Expiry: Sendable, Hashable {
        /// The reaction to a recording that is outdated.
        public enum Reaction: Sendable, Hashable {
            /// The test framework shows a warning, if it has warnings.
            case warn
            /// A test that plays it fails.
            case fail
            /// It is recorded anew where the mode records: ``CassetteMode/once`` becomes ``CassetteMode/rewrite``, and
            /// ``CassetteMode/append`` sends the request again. ``CassetteMode/replay`` warns.
            case recordAnew
        }

        /// The age from which on a recording is outdated.
        public var age: Duration
        /// The reaction to it.
        public var reaction: Reaction

        /// Creates an age and a reaction.
        public init(after age: Duration, _ reaction: Reaction) {
            self.age = age
            self.reaction = reaction
        }

        func date(from now: Date) -> Date { now - TimeInterval(age / .seconds(1)) }
    }

    /// The date before which a recording is to be recorded anew; nil if recordings are not.
    func renewal(at now: Date) -> Date? {
        expiry.flatMap { $0.reaction == .recordAnew ? $0.date(from: now) : nil }
    }
}
