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
/// try cassette.finish()
/// ```
///
/// In a test, `@Test(.cassette)` of `DecorumTestingTraits`, or ``withCassette(_:rules:mode:hasFailed:filePath:function:_:)``, opens
/// and finishes one.
public final class Cassette: Sendable {
    /// The cassette of the test that runs; nil outside of one, and in a task that does not belong to it.
    @TaskLocal public static var current: Cassette?

    /// The file.
    public let file: URL
    /// The reaction of the cassette to a request.
    ///
    /// It is never ``CassetteMode/once``, which is resolved when the cassette is opened.
    public let mode: CassetteMode
    /// The rules for matching, redacting, recording and playing.
    public let rules: CassetteRules
    let clock: any DatedClock
    /// The file as it was when it was opened.
    let opened: CassetteContent
    /// The part of the file that is matched and played.
    let content: CassetteContent
    let redactor: CassetteRedactor
    /// The run of a suite in which the file is written anew; nil if no other test shares it.
    let run: RewritingRun?
    /// The content of the file before that run.
    let original: CassetteContent

    /// The task that has opened the cassette, which lives as long as its test does.
    private let opener: Int

    private struct State {
        var index: PlaybackIndex
        var recordings: [ExchangeRecording] = []
        var requestCount = 0
    }

    private let state: Mutex<State>

    /// Opens a cassette.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which need not exist if the mode records. Any format that ``ImportedCassette``
    ///     knows is read. A new file ending in `.har` becomes an HTTP archive. An HTTP archive is also recorded on,
    ///     unless it is one of Polly.js or Replay, or not plain JSON.
    ///   - mode: The reaction to a request; nil for the mode of the environment.
    ///   - rules: The rules for matching, redacting, recording and playing.
    ///   - clock: The clock that dates recordings and times the pauses between chunks.
    /// - Throws: ``CassetteError`` if the file cannot be read, or does not exist although the mode needs it;
    ///   ``CassetteModeError``.
    public init(
        at path: String, mode: CassetteMode? = nil, rules: CassetteRules = CassetteRules(),
        clock: any DatedClock = SystemClock()
    ) throws {
        file = URL(filePath: path)
        opener = Self.currentTask
        let wanted = try mode ?? .current()
        let exists = FileManager.default.fileExists(atPath: file.path)
        self.mode = wanted == .once ? (exists ? .replay : .append) : wanted
        self.rules = rules
        self.clock = clock
        guard exists || self.mode != .replay && self.mode != .verify else {
            throw CassetteError(
                file: path, reason: "it does not exist; CASSETTE=once records it")
        }
        opened =
            exists && self.mode != .live
            ? try CassetteContent(reading: file, as: rules.content, formats: rules.formats) : .none
        if self.mode == .append || self.mode == .rewrite, let format = opened.readOnlyFormat {
            throw CassetteError(
                file: path, reason: "it is a cassette of \(format), which is only replayed; record on another file")
        }
        // A file that is written anew is not matched, and may be unreadable.
        content = self.mode == .rewrite ? opened : try opened.rewritten(by: rules)
        run = self.mode == .rewrite ? CassetteDefaults.current.run : nil
        original = run?.original(of: file, opened: opened) ?? opened
        redactor = CassetteRedactor(rules)
        let redactor = redactor
        var index = PlaybackIndex(count: content.count, rules: rules)
        content.forEachTarget { target in
            target.url = redactor.matchable(url: target.url)
            index.append(target)
        }
        state = Mutex(State(index: index))
    }

    /// The day of the first recording, exact to the second if its response has a `Date`.
    ///
    /// A `VirtualClock(date:)` that starts here makes caches and tokens behave as they did on that day.
    public var recordedAt: Date? {
        guard content.count > 0, let first = try? content.interaction(at: 0) else { return nil }
        let date = first.response?.fields[.date].flatMap { HTTPDate($0, at: clock.date)?.date }
        return date ?? first.recordedAt
    }

    /// The interactions of the file, in their order.
    ///
    /// - Returns: All of them, decoded.
    /// - Throws: ``CassetteError`` if one does not conform to the format.
    public func interactions() throws -> [Interaction] {
        try content.interactions()
    }

    /// The interactions that were never played, by their places in the file, counted from 0.
    public var unplayed: [Int] {
        let played = state.withLock { $0.index.played }
        return (0..<content.count).filter { !played.contains($0) }
    }

    /// Takes the interaction that answers a request.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(_ request: RecordedRequest) throws -> RecordedOutcome {
        let request = matchable(request)
        let (finding, number) = try take { try $0.take(request, recorded: $1) }
        return try outcome(of: finding, for: request, number: number)
    }

    /// Takes the interaction that answers one of several versions of a request; of several, the first in the file.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(anyOf versions: [RecordedRequest]) throws -> RecordedOutcome {
        let versions = versions.map(matchable)
        let (finding, number) = try take { try $0.take(anyOf: versions, recorded: $1) }
        return try outcome(of: finding, for: versions.first ?? RecordedRequest(method: "", url: ""), number: number)
    }

    /// Takes the interaction that answers a request; nil if there is none.
    func playIfRecorded(_ request: RecordedRequest) throws -> RecordedOutcome? {
        let request = matchable(request)
        guard case .interaction(let ordinal) = try take({ try $0.take(request, recorded: $1) }).finding else {
            return nil
        }
        return try content.outcome(at: ordinal)
    }

    private func matchable(_ request: RecordedRequest) -> RecordedRequest {
        redactor.matchable(rules.rewritten(request))
    }

    private func take(
        _ take: (_ index: inout PlaybackIndex, _ recorded: (Int) throws -> RecordedRequest) throws ->
            PlaybackIndex.Finding
    ) throws -> (finding: PlaybackIndex.Finding, number: Int) {
        try state.withLock { state in
            state.requestCount += 1
            let finding = try take(&state.index) {
                redactor.matchable(try content.request(at: $0, for: rules.matching))
            }
            return (finding, state.requestCount)
        }
    }

    private func outcome(
        of finding: PlaybackIndex.Finding, for request: RecordedRequest, number: Int
    ) throws -> RecordedOutcome {
        guard case .interaction(let ordinal) = finding else {
            throw try CassetteMissError(request, number: number, finding: finding, unplayed: Set(unplayed), in: self)
        }
        return try content.outcome(at: ordinal)
    }

    /// The response of an interaction, or its failure.
    func played(_ outcome: RecordedOutcome) async throws -> Response {
        if let response = outcome.response {
            return Response(playing: response, failure: outcome.failure, timing: rules.timing, clock: clock)
        }
        try await outcome.failure?.play()
        throw CassetteError(file: file.relativePath, reason: "an interaction has neither a response nor an error")
    }

    /// Reserves the place of an exchange that begins now.
    func record(_ request: RecordedRequest) -> ExchangeRecording {
        let recording = ExchangeRecording(
            request, isFromOpener: Self.currentTask == opener, limit: rules.bodyLimit, clock: clock)
        state.withLock { $0.recordings.append(recording) }
        return recording
    }

    /// A number for the current task; a later task may get the same number.
    private static var currentTask: Int { unsafe withUnsafeCurrentTask { unsafe $0?.hashValue ?? 0 } }

    /// Ends the run: writes new recordings, and reports unplayed interactions and changed answers.
    ///
    /// - Throws: ``UnusedInteractionsError`` in ``CassetteMode/replay``, unless the rules allow them;
    ///   ``CassetteDriftError`` in ``CassetteMode/verify``; ``SecretFoundError`` or ``CassetteError`` if the file is
    ///   not written, which is then unchanged.
    public func finish() throws {
        switch mode {
        case .replay:
            let unplayed = unplayed
            guard rules.unused == .fail, !unplayed.isEmpty else { return }
            throw try unused(unplayed)
        case .append, .rewrite: try save()
        case .verify: try verify()
        case .once, .live: return
        }
    }

    private func unused(_ ordinals: [Int]) throws -> UnusedInteractionsError {
        let scanner = SecretScanner(rules)
        return UnusedInteractionsError(
            file: file.relativePath,
            requests: try ordinals.map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                return scanner.masked("\(request.method) \(request.url)")
            },
            advice: adviceToRecord(or: "CASSETTE=rewrite records it anew"))
    }

    /// The recorded interactions, without their secrets, in the order of the file.
    ///
    /// It is the order in which the requests were sent if the task that opened the cassette sent them all, or if the
    /// rules require that order. Otherwise the requests are sorted by their text, because the order among several tasks
    /// is random.
    func recorded() throws -> (interactions: [Interaction], redactor: CassetteRedactor) {
        let recordings = state.withLock { $0.recordings }
        var interactions: [Interaction] = []
        for (index, recording) in recordings.enumerated() {
            guard let interaction = try rules.rewritten(recording.interaction(), number: index + 1, of: file) else {
                continue
            }
            interactions.append(interaction)
        }
        if rules.order == .any, !recordings.allSatisfy(\.isFromOpener) {
            interactions = interactions.sorted { redactor.matchable($0.request) }
        }
        let naming = CassetteRedactor(rules, continuing: mode == .append ? opened.text : [])
        return (naming.redacted(interactions), naming)
    }
}

extension Cassette: CustomStringConvertible, CustomReflectable {
    /// The name of the file, and the mode of the cassette.
    public var description: String { "cassette \(file.lastPathComponent), \(mode.rawValue)" }

    /// A mirror with the description alone, because an exchange in progress is not redacted yet.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension CassetteRules {
    /// The interaction to record; nil where the rules leave it out.
    fileprivate func rewritten(_ interaction: Interaction, number: Int, of file: URL) throws -> Interaction? {
        var interaction = interaction
        if content == .decoded { interaction.decodeContent() }
        if let beforeRecording {
            guard let rewritten = beforeRecording(interaction) else { return nil }
            interaction = rewritten
        }
        if content == .decoded { try interaction.checkCoding(number: number, file: file.relativePath) }
        return interaction
    }
}
