import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Throws if the live answers or the requests differ from the recorded ones.
    ///
    /// - Returns: The recorded interactions whose requests were not made; other tests of the suite may make them.
    func verify() throws -> Set<Int> {
        let found = try verification(hasFailed: false)
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

    private func verification(hasFailed: Bool) throws -> Verification {
        let live = try recorded().interactions.map(redactor.matchable)
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
    private typealias Drift = CassetteDriftError.Drift

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
    /// The requests that got no answer but a failure of the server.
    private var serverFailures: [String] = []
    /// The recorded interactions whose requests were not made.
    private(set) var unmade: Set<Int> = []

    /// Compares interactions, whose requests are redacted as for matching.
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
        addUnrecorded(unrecorded, insteadOf: failures)
    }

    /// The differences in the order of the live requests.
    var drifts: [CassetteDriftError.Drift] { found.sorted { $0.place < $1.place }.map(\.drift) }

    /// The number of differences, by which two readings are compared.
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

    /// Compares the answers, and returns the places of the requests without a recording.
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

    /// Plays the recording of a live request; nil for a request without one.
    private mutating func take(_ place: Int) throws -> Int? {
        let request = live[place].request
        let versions = [request, values.recordedVersion(of: request)].compactMap(\.self)
        return try index.take(firstOf: preferringRecordedValues ? versions.reversed() : versions) { [recorded] in
            recorded[$0].request
        }
    }

    /// Adds the difference of a live answer to a recorded one, and learns the values of the run from it.
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
}

extension Verification {
    /// Adds the requests that have no recording.
    ///
    /// A test that has changed sends one request in place of another, so each is paired with a recording that is left, and
    /// told as one difference. `failures` are the recorded failures of the server.
    private mutating func addUnrecorded(_ places: [Int], insteadOf failures: [Int]) {
        guard !places.isEmpty else { return }
        let rules = cassette.rules.matching
        let keys = recorded.map { interaction in rules.map { $0.key(interaction.request) } }
        func agree(_ ordinal: Int, _ liveKeys: [[UInt8]]) -> Bool {
            zip(keys[ordinal], liveKeys).allSatisfy { KeyTemplates.agree(recorded: $0, $1) }
        }
        var left = unmade.subtracting(cassette.owners.foreign).sorted()
        var others: [(place: Int, request: RecordedRequest, keys: [[UInt8]])] = []
        for place in places {
            let request = values.recordedVersion(of: live[place].request) ?? live[place].request
            let liveKeys = rules.map { $0.key(request) }
            if let failure = failures.first(where: { agree($0, liveKeys) }) {
                compare(place, to: failure)
            } else if let index = left.firstIndex(where: { agree($0, liveKeys) }) {
                add(place, ["comes out of order"], insteadOf: left.remove(at: index))
            } else {
                others.append((place, request, liveKeys))
            }
        }
        for (place, request, liveKeys) in others {
            func nearness(_ ordinal: Int) -> RequestDifference.Nearness {
                RequestDifference.nearness(recorded[ordinal].request, request, liveKeys, keys[ordinal])
            }
            let candidates = left.filter { isLike(recorded[$0].request, request) }
            if let nearest = candidates.max(by: { (nearness($0), $1) < (nearness($1), $0) }) {
                left.removeAll { $0 == nearest }
                add(place, changes(from: nearest, to: request), insteadOf: nearest)
            } else {
                let isRecorded = recorded.indices.contains { agree($0, liveKeys) }
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
        URLNearness.address(of: old.url) == URLNearness.address(of: new.url) || !hasFailed && old.method == new.method
    }

    /// The lines for a request that is sent in place of a recorded one, as a miss shows them.
    private func changes(from ordinal: Int, to request: RecordedRequest) -> [String] {
        let old = recorded[ordinal].request
        let shown = (try? cassette.content.request(at: ordinal)).map(cassette.redactor.shown)
        let difference = RequestDifference(
            old, request, rules: cassette.rules.matching, masking: scanner, shown: shown)
        return ["is sent in place of \(old.method) \(old.url)"]
            + difference.disagreements.flatMap { rule, lines in ["\(rule)  differs"] + lines.map { "  \($0)" } }
    }
}
