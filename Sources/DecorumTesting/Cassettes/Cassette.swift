public import Decorum
public import Foundation
import HTTPTypes
import Synchronization

/// A file of recorded exchanges, from which one run of a test plays and to which it records.
///
/// ```swift
/// let cassette = try Cassette(at: "Tests/Cassettes/feed.json")
/// let connection = CassetteConnection(cassette).retrying()
/// _ = try await connection.send(.get("https://api.example.com/feed"))
/// try await cassette.finish()
/// ```
///
/// In a test, `@Test(.cassette)` of `DecorumTestingTraits`, or
/// ``withCassette(_:rules:mode:clock:hasFailed:filePath:function:_:)``, opens and finishes one.
public final class Cassette: Sendable {
    /// The cassette of the test that runs; nil outside of one, and in a task that does not belong to it.
    @TaskLocal public static var current: Cassette?

    /// The file.
    public let file: URL
    /// The reaction of the cassette to a request.
    ///
    /// It is never ``CassetteMode/once``, which is resolved when the cassette is opened.
    public let mode: CassetteMode
    /// Whether the mode was resolved from ``CassetteMode/once``.
    let isOnce: Bool
    /// The rules for matching, redacting, recording and playing.
    public let rules: CassetteRules
    let clock: any DatedClock
    let spawner: any TaskSpawner
    let opened: CassetteContent
    let stamp: FileStamp?
    /// The part of the file that is matched and played.
    let content: CassetteContent
    let redactor: CassetteRedactor
    /// Whether the fields of a request without content matter to a rule.
    let readsFields: Bool
    let shared: SharedCassettes?
    /// Whether other tests of the suite may play the interactions that this one leaves.
    let isShared: Bool
    /// The opening of the file to which new recordings belong, where a suite shares it; else nil.
    let opening: TestOpening?
    let testName: String?
    var test: String? { opening?.name }
    /// The content of the file before the suite began.
    let original: CassetteContent
    let mended: Set<Int>
    /// The interactions by their tests; the interactions of others are not played while this test records, or while it has its own.
    let owners: InteractionOwners
    let explainer: RequestExplainer?
    let reportFile: CassetteReportFile?

    struct State {
        var index: PlaybackIndex
        var recordings: [ExchangeRecording] = []
        /// The number of requests, and of answers to recorded requests.
        var eventCount = 0
        var requestCount = 0
        var replayCount = 0
        var answered: [Int: (number: Int, isAuthorized: Bool)] = [:]
        /// The number of interactions that were written, and the values that were replaced in them.
        var saved: (count: Int, replacements: [SecretReplacement]) = (0, [])
        var isReported = false
        var failures: [any Error] = []
        var drifts: [CassetteDriftError.Drift] = []
        var noteOfEnd: String?
    }

    let state: Mutex<State>

    /// Opens a cassette.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which need not exist if the mode records. Any format that ``ImportedCassette``
    ///     knows is read. A new file ending in `.har` becomes an HTTP archive. An HTTP archive is also recorded on,
    ///     unless it is one of Polly.js or Replay, or not plain JSON.
    ///   - mode: The reaction to a request; nil for the mode of the environment.
    ///   - rules: The rules for matching, redacting, recording and playing.
    ///   - clock: The clock that dates recordings and times the pauses between chunks. With an ``ImpatientClock`` without
    ///     a date, the system dates recordings.
    ///   - spawner: Starts the tasks that read content which a test has dropped, so that it is recorded whole.
    /// - Throws: ``CassetteError`` if the file cannot be read, or does not exist although the mode needs it;
    ///   ``CassetteModeError``.
    public convenience init(
        at path: String, mode: CassetteMode? = nil, rules: CassetteRules = CassetteRules(),
        clock: any DatedClock = SystemClock(), spawner: any TaskSpawner = SystemSpawner()
    ) throws {
        try self.init(
            at: path, mode: mode, rules: rules, clock: clock, spawner: spawner, suite: CassetteDefaults.current.shared,
            isNamed: true, test: nil)
    }

    /// Opens a cassette, which other tests of a suite may share; `test` is the one that opens it, if it is known.
    init(
        at path: String, mode: CassetteMode?, rules: CassetteRules, clock: any DatedClock,
        spawner: any TaskSpawner = SystemSpawner(), suite shared: SharedCassettes?, isNamed: Bool,
        test: String?, isReported: Bool = true
    ) throws {
        let file = URL(filePath: path)
        let environment = ProcessInfo.processInfo.environment
        let wanted = try mode ?? .current(in: environment)
        // The version is taken first, so that a change while the file is read counts as one.
        let stamp = FileStamp(of: file)
        let isRead = stamp != nil && wanted != .live
        // A cassette that is passed by says nothing about the file.
        let shared = wanted == .live ? nil : shared
        let found = isRead ? try CassetteContent(of: file, at: stamp, rules, in: shared) : nil
        opened = found ?? .none
        let course = shared.map { $0.open(file, at: stamp, holding: found, for: isNamed ? test : nil) }
        opening = course?.opening
        original = (course?.original ?? found) ?? .none
        var others = isNamed && shared == nil && test != nil ? opened.testNames : []
        if let test { others = others.filter { !TestOpening(test: test, number: 1).isOfSameTest($0) } }
        let today = clock.recordingDate
        let opener = InteractionOwners(of: opened, for: opening)
        do {
            self.mode = try CassetteCourse.mode(
                for: .init(
                    wanted: wanted, exists: stamp != nil, wasAbsent: course.map { $0.original == nil } ?? false,
                    isNewTest: opener.isNewTest,
                    isOutdated: original.isOutdated(before: rules.renewal(at: today), for: opening),
                    readOnlyFormat: opened.readOnlyFormat, otherTests: others.sorted()), of: path)
            // A file that is written anew is not matched, and may be unreadable.
            content = self.mode == .rewrite ? opened : try opened.rewritten(by: rules)
        } catch {
            shared?.close(file)
            if stamp == nil, isReported { Self.reportMissing(file, wanted) }
            throw error
        }
        self.file = file
        self.stamp = stamp
        isOnce = wanted == .once
        self.rules = rules
        self.clock = clock
        self.spawner = spawner
        self.shared = shared
        testName = test
        isShared = isNamed && shared != nil
        redactor = CassetteRedactor(rules)
        readsFields = rules.matching.contains(where: \.readsFields)
        explainer = RequestExplainer(rules, environment: environment)
        let redactor = redactor
        owners = rules.beforeMatching == nil ? opener : InteractionOwners(of: content, for: opening)
        // A test that records gets answers of its own, since the answers of others may not fit.
        let withheld = self.mode == .append ? owners.foreign : owners.withheld
        mended =
            self.mode == .append
            ? content.mendable(expiry: rules.renewal(at: today)).subtracting(owners.foreign) : []
        var index = PlaybackIndex(count: content.count, rules: rules, owners: owners, mended: mended)
        content.forEachTarget { target in
            guard !withheld.contains(index.count) else { return index.skip() }
            let url = target.url
            target.url = redactor.matchable(url: url)
            index.append(target, writtenAs: url)
        }
        state = Mutex(State(index: index))
        reportFile = isReported ? Self.currentReport : nil
        reportOpening()
    }

    deinit {
        // A test that has failed does not finish its cassette.
        reportEnd(isFinished: false)
        for recording in state.withLock(\.recordings) { recording.stop() }
    }

    /// The day of the earliest recording that the test plays, exact to the second if its response has a `Date`.
    ///
    /// Recordings of other tests count only if the test has none. A `VirtualClock(date:)` that starts here makes caches and
    /// tokens behave as they did on that day.
    public var recordedAt: Date? {
        let own = (0..<content.count).filter(owners.areOf)
        let ordinals = own.isEmpty ? Array(0..<content.count) : own
        let days = ordinals.map { content.recordedAt($0) ?? .distantFuture }
        guard let earliest = days.indices.min(by: { days[$0] < days[$1] }),
            let first = try? content.interaction(at: ordinals[earliest])
        else { return nil }
        let date = first.response?.fields[.date].flatMap { HTTPDate($0, at: clock.recordingDate)?.date }
        return date ?? first.recordedAt
    }

    /// The interactions of the file, in their order.
    ///
    /// - Throws: ``CassetteError`` if one does not conform to the format.
    public func interactions() throws -> [Interaction] { try content.interactions() }

    /// The interactions that were never played, by their places in the file, counted from 0.
    public var unplayed: [Int] {
        let played = state.withLock { $0.index.played }
        return (0..<content.count).filter { !played.contains($0) }
    }

    /// The interactions that were played although they are older than the rules allow, by their places in the file.
    public var outdated: [Int] {
        guard let date = rules.expiry?.date(from: clock.recordingDate) else { return [] }
        let played = state.withLock { $0.index.played }
        return played.sorted().filter { content.isOlder($0, than: date) }
    }
}

extension Cassette: SecretHolder {
    /// The name of the file, and the mode of the cassette.
    public var description: String { "cassette \(file.lastPathComponent), \(mode.rawValue)" }
}

/// A cassette cannot be read, written or used.
///
/// It names the file, the place within it and the cause, but never the content of the cassette.
public struct CassetteError: Error, Hashable, Sendable {
    /// The path of the cassette, or of the file that it names.
    public let file: String
    /// The place in the file, such as `line 12` or `interactions[3].request`; empty for the whole file.
    public let place: String
    /// The cause, as a sentence without its full stop.
    public let reason: String

    init(file: String, place: String = "", reason: String) {
        self.file = file
        self.place = place
        self.reason = reason
    }
}

extension CassetteError: DescribableError {
    /// The file, the place and the cause.
    public var description: String {
        "The cassette \(file)\(place.isEmpty ? "" : ", \(place),") cannot be used: \(reason)."
    }
}

/// The reaction of a cassette to a request.
public enum CassetteMode: String, Sendable, CaseIterable, Codable {
    /// Plays recorded interactions. A request without one is a miss, and nothing is sent. The default if `CI` is set.
    case replay
    /// Records if there is no file yet, else replays. The default if `CI` is not set.
    ///
    /// Where the tests of a suite share a file, a test of which it has no recording yet records too.
    case once
    /// Plays recorded interactions, and records all other requests.
    ///
    /// A request that holds the placeholder of a played secret throws ``RequestNotSentError`` instead of being sent.
    case append
    /// Records everything anew; an interaction that has not changed keeps its place and its day.
    ///
    /// The file then holds the interactions of the last run. Tests that share a cassette have to be in a suite with
    /// `@Suite(.cassettes())`: each of them then replaces its own recordings. Without the
    /// trait, a file with recordings of other tests is refused, in ``append`` too.
    case rewrite
    /// Sends everything, writes nothing, and fails if the answers have another shape than the recorded ones, or if the
    /// requests are others.
    case verify
    /// Sends everything and writes nothing.
    case live

    /// The mode that the environment names in `CASSETTE`; without it, ``replay`` if `CI` is set, else ``once``.
    ///
    /// `explain` names ``replay`` too; each request is then explained by a ``RequestExplanation``.
    ///
    /// - Throws: `CassetteModeError` if the value of the variable is not the name of a mode.
    public static func current(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CassetteModeError) -> CassetteMode {
        guard let name = environment["CASSETTE"], !name.isEmpty else {
            let isContinuousIntegration = !["", "0", "false"].contains(environment["CI"] ?? "")
            return isContinuousIntegration ? .replay : .once
        }
        if name == RequestExplanation.modeName { return .replay }
        guard let mode = CassetteMode(rawValue: name) else { throw CassetteModeError(name: name) }
        return mode
    }
}

/// The environment names a mode that does not exist.
public struct CassetteModeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The value of the variable.
    public let name: String

    /// The cause, and the modes.
    public var description: String {
        let names = CassetteMode.allCases.map(\.rawValue) + [RequestExplanation.modeName]
        return "CASSETTE is \(name.debugDescription), which is not a mode; "
            + "the modes are \(names.joined(separator: ", "))."
    }
}
