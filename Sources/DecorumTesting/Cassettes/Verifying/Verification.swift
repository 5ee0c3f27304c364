public import Decorum
import DecorumArchive
import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// Throws if the live answers or the requests differ from the recorded ones.
    ///
    /// - Returns: The recorded interactions whose requests were not made; other tests of the suite may make them.
    func verify() throws -> Set<Int> {
        let found = try verification()
        state.withLock { $0.noteOfEnd = found.noteOfServerFailures }
        let unmade = isShared || rules.unused != .fail ? [] : found.driftsOfUnmade
        if let error = error(of: found.drifts + unmade) { throw error }
        return isShared ? found.unmade : []
    }

    /// The differences in ``CassetteMode/verify`` for a test that has failed, and so does not finish its cassette; nil
    /// without any.
    ///
    /// A request that was not made is no difference then, since the test may have ended early, and neither is a failure of
    /// the connection, which the test tells itself.
    func driftOfFailedTest() async -> CassetteDriftError? {
        guard mode == .verify else { return nil }
        await endRecordings()
        return (try? verification(hasFailed: true)).flatMap { error(of: $0.drifts) }
    }

    private func error(of drifts: [CassetteDriftError.Drift]) -> CassetteDriftError? {
        guard !drifts.isEmpty else { return nil }
        state.withLock { $0.drifts = drifts }
        let command = adviceToRecord(or: "`\(rewriteCommand)` records the test anew")
        return CassetteDriftError(file: file.relativePath, drifts: drifts, command: command)
    }

    /// The differences of a later recording to the cassette: in its requests, and in the answers to them.
    package func drifts(in later: [Interaction]) throws -> [CassetteDriftError.Drift] {
        let found = try verification(of: later)
        return found.drifts + found.driftsOfUnmade
    }

    private func verification(of later: [Interaction]? = nil, hasFailed: Bool = false) throws -> Verification {
        let live = try (later ?? recorded().interactions).map(redactor.matchable)
        let recorded = try content.interactions().map(redactor.matchable)
        // An identifier of this run may by chance be that of another recorded item, so both readings are tried.
        let reading = try Verification(of: live, against: recorded, in: self, hasFailed: hasFailed)
        guard reading.findingCount > 0 else { return reading }
        let other = try Verification(
            of: live, against: recorded, in: self, hasFailed: hasFailed, preferringRecordedValues: true)
        return other.findingCount < reading.findingCount ? other : reading
    }
}

/// The comparison of what a test has sent and got in ``CassetteMode/verify`` with what is recorded.
///
/// A request is looked up as it is, and with recorded values in place of the values of this run. A server
/// that fails or asks to wait, in the recording or now, has not changed: such an exchange counts only if no other one of the
/// same request takes its place.
struct Verification {
    private let cassette: Cassette
    private let live: [Interaction]
    private let recorded: [Interaction]
    private let hasFailed: Bool
    private let scanner: SecretScanner
    private let answers: AnswerComparison
    private let preferringRecordedValues: Bool
    private var values = RunValues()
    private var index: PlaybackIndex
    private var found: [(place: Int, drift: CassetteDriftError.Drift)] = []
    private var serverFailures: [String] = []
    private(set) var unmade: Set<Int> = []

    init(
        of live: [Interaction], against recorded: [Interaction], in cassette: Cassette, hasFailed: Bool,
        preferringRecordedValues: Bool = false
    ) throws {
        self.cassette = cassette
        self.live = live
        self.recorded = recorded
        self.hasFailed = hasFailed
        self.preferringRecordedValues = preferringRecordedValues
        scanner = SecretScanner(cassette.rules)
        answers = AnswerComparison(of: cassette, masking: scanner)
        index = PlaybackIndex(recorded.lazy.map(\.request), rules: cassette.rules, owners: cassette.owners)
        let failures = recorded.indices.filter { recorded[$0].isServerFailure }
        try index.skip(failures) { recorded[$0].request }
        let unrecorded = try compareAnswers()
        unmade = Set(recorded.indices).subtracting(index.played)
        try addUnrecorded(unrecorded, insteadOf: failures)
    }

    var drifts: [CassetteDriftError.Drift] { found.sorted { $0.place < $1.place }.map(\.drift) }

    var findingCount: Int { found.count + unmade.count }

    var driftsOfUnmade: [CassetteDriftError.Drift] {
        unmade.sorted().map { ordinal in
            drift(recorded[ordinal].request, ["is recorded, and not sent"], recordedAt: ordinal)
        }
    }

    /// The note for a test that has passed although the server failed; nil if it did not.
    var noteOfServerFailures: String? {
        guard !serverFailures.isEmpty else { return nil }
        return "The server failed, so these answers were not compared with the cassette \(cassette.file.relativePath):"
            + serverFailures.map { "\n  \($0)" }.joined()
    }

    private mutating func compareAnswers() throws -> [Int] {
        var unrecorded: [Int] = []
        for place in live.indices where !live[place].isServerFailure {
            let ordinal = try take(place)
            // The test itself tells of a request that it has cancelled.
            if hasFailed, live[place].response == nil { continue }
            if let ordinal { compare(place, to: ordinal) } else { unrecorded.append(place) }
        }
        for place in live.indices where live[place].isServerFailure {
            let count = index.played.count
            // A request whose recording is played was sent again, and was answered then.
            guard let ordinal = try take(place), index.played.count > count else { continue }
            if live[place].response != nil, live[place].failure == nil {
                serverFailures.append(
                    "\(name(of: live[place].request))  \(live[place].response?.status ?? 0)")
            } else if !hasFailed {
                compare(place, to: ordinal)
            }
        }
        return unrecorded
    }

    private mutating func take(_ place: Int) throws -> Int? {
        let request = live[place].request
        let versions = [request, values.recordedVersion(of: request)].compactMap(\.self)
        for request in preferringRecordedValues ? versions.reversed() : versions {
            let finding = try index.take(request) { [recorded] in recorded[$0].request }
            if case .interaction(let ordinal) = finding { return ordinal }
        }
        return nil
    }

    private mutating func compare(_ place: Int, to ordinal: Int) {
        let changes = answers.changes(from: recorded[ordinal], to: live[place], knowing: values)
        if let old = recorded[ordinal].response, let new = live[place].response { values.learn(from: old, new) }
        if !changes.isEmpty { found.append((place, drift(live[place].request, changes, recordedAt: ordinal))) }
    }

    private func drift(
        _ request: RecordedRequest, _ changes: [String], recordedAt ordinal: Int?
    ) -> CassetteDriftError.Drift {
        .init(
            request: name(of: request), changes: changes.map(scanner.masked),
            line: ordinal.flatMap { cassette.content.line(of: $0) })
    }

    private func name(of request: RecordedRequest) -> String { scanner.masked("\(request.method) \(request.url)") }

    /// Adds the requests that have no recording.
    ///
    /// A test that has changed sends one request in place of another, so each is paired with a recording that is left, and
    /// told as one difference. `failures` are the recorded failures of the server.
    private mutating func addUnrecorded(_ places: [Int], insteadOf failures: [Int]) throws {
        guard !places.isEmpty else { return }
        let known = try RecordedRequests(of: cassette)
        var left = unmade.subtracting(cassette.owners.foreign).sorted()
        var others: [(place: Int, request: RecordedRequest, keys: [[UInt8]])] = []
        for place in places {
            let request = values.recordedVersion(of: live[place].request) ?? live[place].request
            let keys = known.keys(of: request)
            if let failure = failures.first(where: { known.matches($0, keys) }) {
                compare(place, to: failure)
            } else if let index = left.firstIndex(where: { known.matches($0, keys) }) {
                add(place, ["comes out of order"], insteadOf: left.remove(at: index))
            } else {
                others.append((place, request, keys))
            }
        }
        for (place, request, keys) in others {
            let candidates = left.filter { isLike(recorded[$0].request, request) }
                .map { (nearness: known.nearness($0, request, keys), ordinal: $0) }
            if let nearest = candidates.max(by: { ($0.nearness, $1.ordinal) < ($1.nearness, $0.ordinal) })?.ordinal {
                left.removeAll { $0 == nearest }
                let old = recorded[nearest].request
                let lines = try known.difference(nearest, request).lines
                add(place, ["is sent in place of \(old.method) \(old.url)"] + lines, insteadOf: nearest)
            } else {
                let isRecorded = recorded.indices.contains { known.matches($0, keys) }
                add(place, [isRecorded ? "is sent more often than it is recorded" : "is not recorded"], insteadOf: nil)
            }
        }
    }

    private mutating func add(_ place: Int, _ changes: [String], insteadOf ordinal: Int?) {
        ordinal.map { _ = unmade.remove($0) }
        found.append((place, drift(live[place].request, changes, recordedAt: ordinal)))
    }

    /// Whether a request may be a recorded one that has changed; a test that has failed may have left the recorded one out.
    private func isLike(_ old: RecordedRequest, _ new: RecordedRequest) -> Bool {
        RequestNearness.address(of: old.url) == RequestNearness.address(of: new.url)
            || !hasFailed && old.method == new.method
    }
}

/// The values in the answers of a run that stand in place of recorded ones, such as the identifier of a new item.
///
/// A server gives other identifiers in each run, and requests repeat them in their paths, queries or contents. With the
/// recorded value in its place, such a request is the recorded one.
struct RunValues {
    private static let lengthLimit = 128

    private var recorded: [[UInt8]: [UInt8]] = [:]

    /// Learns the words that differ at the same places of a recorded answer and of the live one: in `Location`, and in texts
    /// and numbers of JSON.
    mutating func learn(from recorded: RecordedResponse, _ live: RecordedResponse) {
        if let old = recorded.fields[.location], let new = live.fields[.location] { learn(from: old, new) }
        guard let old = try? JSONValue(parsing: Array(recorded.body.bytes)),
            let new = try? JSONValue(parsing: Array(live.body.bytes))
        else { return }
        learn(from: old, new)
    }

    private mutating func learn(from old: JSONValue, _ new: JSONValue) {
        switch (old, new) {
        case (.string(let old), .string(let new)), (.number(let old), .number(let new)): learn(from: old, new)
        case (.array(let old), .array(let new)): for (old, new) in zip(old, new) { learn(from: old, new) }
        case (.object(let old), .object(let new)):
            let members = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
            for member in old { members[member.name].map { learn(from: member.value, $0) } }
        default: break
        }
    }

    /// A value that was learned first stays.
    private mutating func learn(from old: String, _ new: String) {
        guard old != new, max(old.utf8.count, new.utf8.count) <= Self.lengthLimit else { return }
        let words = [old, new].map { Self.words(in: Array($0.utf8), isURL: true) }
        guard words[0].count == words[1].count else { return }
        for (old, new) in zip(words[0], words[1]) where old != new && recorded[Array(new)] == nil {
            recorded[Array(new)] = Array(old)
        }
    }

    /// A request with recorded values in place of live ones; nil if it has none of them.
    func recordedVersion(of request: RecordedRequest) -> RecordedRequest? {
        guard !recorded.isEmpty else { return nil }
        let url = replaced(in: Array(request.url.utf8), isURL: true)
        let isCoded = request.fields.contains(.contentEncoding)
        let content = isCoded ? nil : replaced(in: Array(request.body.bytes), isURL: false)
        guard url != nil || content != nil else { return nil }
        var request = request
        if let url { request.url = String(decoding: url, as: UTF8.self) }
        if let content { request.body.bytes = Data(content) }
        return request
    }

    func recordedVersion(of url: String) -> String? {
        replaced(in: Array(url.utf8), isURL: true).map { String(decoding: $0, as: UTF8.self) }
    }

    private func replaced(in text: [UInt8], isURL: Bool) -> [UInt8]? {
        var output: [UInt8] = []
        var copied = 0
        for word in Self.words(in: text, isURL: isURL) {
            guard let value = recorded[Array(word)] else { continue }
            output += text[copied..<word.startIndex]
            output += value
            copied = word.endIndex
        }
        return copied == 0 ? nil : output + text[copied...]
    }

    /// The words of a text; the scheme and the authority of a URL (RFC 3986, section 3) hold none.
    private static func words(in text: [UInt8], isURL: Bool) -> [ArraySlice<UInt8>] {
        var start = 0
        let scheme = text.prefix { $0.isLetterOrDigit }.count
        if isURL, text[scheme...].starts(with: "://".utf8) {
            start = text[(scheme + 3)...].firstIndex { "/?#".utf8.contains($0) } ?? text.count
        }
        return text[start...].split { !$0.isLetterOrDigit && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
    }
}

/// The answers of a server, or the requests of a test, have changed since they were recorded.
public struct CassetteDriftError: Error, Hashable, Sendable {
    /// The changes in one request, or in the answer to it.
    public struct Drift: Hashable, Sendable, Codable {
        /// The method and the URL, redacted.
        public let request: String
        /// The changes in the answer, with JSON paths and without values, and the beginning of the redacted content of an
        /// error; for a request without a recording, the rules in which it differs from the nearest one.
        public let changes: [String]
        /// The line of the recorded interaction in the file, counted from 1; nil for a request without a recording, and for a
        /// file whose format has no lines.
        public let line: Int?
    }

    /// The path of the cassette.
    public let file: String
    /// The changes, in the order of the requests.
    public let drifts: [Drift]
    let command: String
}

extension CassetteDriftError: DescribableError {
    /// Every change, by request, and the command that records the test anew.
    public var description: String {
        let list = drifts.map { drift in
            "\n  \(drift.request)\(InteractionPlace.suffix(line: drift.line))"
                + drift.changes.map { "\n    \($0)" }.joined()
        }
        return "The requests or the answers differ from the cassette \(file):\(list.joined())\n"
            + "fix: mend the server or the code; if the change is meant, \(command)"
    }
}

extension Cassette {
    /// Throws if a verified test has sent far more requests than are recorded.
    ///
    /// A loop that ends with a recording may not end with a server: for example, a client connects to an event stream again
    /// whenever the server closes it, and a clock that skips waits makes it do so without a pause.
    func checkNumber(of request: borrowing Request) throws(CassetteError) {
        guard mode == .verify else { return }
        let recorded = content.count - owners.foreign.count
        // Retries go beyond the recorded requests, and a client that polls goes far beyond them.
        let limit = recorded + (rules.repeats == .last ? 1000 : 20)
        let (sent, isKnown) = state.withLock { ($0.recordings.count, $0.failures.contains { $0 is CassetteError }) }
        guard sent >= limit else { return }
        let matchable = redactor.matchable(RecordedRequest(request.head, declaredBy: request.options))
        let name = SecretScanner(rules).masked("\(matchable.method) \(matchable.url)")
        let error = CassetteError(
            file: file.relativePath,
            reason: "\(name) was not sent, because the test has sent \(sent) requests in place of \(recorded); "
                + "end the loop that sends it")
        if !isKnown { keep(error) }
        throw error
    }
}
