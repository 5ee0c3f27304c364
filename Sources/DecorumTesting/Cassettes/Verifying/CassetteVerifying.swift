import Decorum
import DecorumArchive
import Foundation
import Synchronization

extension Cassette {
    /// Throws if the live answers differ from the recorded ones.
    ///
    /// - Returns: The recorded interactions whose requests were not made; other tests of the suite may make them.
    func verify() throws -> Set<Int> {
        var (drifts, unmade) = try drifts(ofFailedTest: false)
        if !isShared, rules.unused == .fail {
            let scanner = SecretScanner(rules)
            drifts += try unmade.sorted().map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                return .init(
                    request: scanner.masked("\(request.method) \(request.url)"),
                    changes: ["is recorded, and no longer requested"], line: content.line(of: ordinal))
            }
        }
        if let error = error(of: drifts) { throw error }
        return isShared ? unmade : []
    }

    /// The differences of the live answers in ``CassetteMode/verify``, for a test that has failed and so does not finish
    /// its cassette; nil if there are none.
    ///
    /// A request that was not made is no difference then, since the test may have ended early, and neither is a failure of
    /// the connection, which the test tells itself.
    func driftOfFailedTest() async -> CassetteDriftError? {
        guard mode == .verify else { return nil }
        await endRecordings()
        return (try? drifts(ofFailedTest: true)).flatMap { error(of: $0.drifts) }
    }

    /// The error for differences, which are kept for the report of the run.
    private func error(of drifts: [CassetteDriftError.Drift]) -> CassetteDriftError? {
        guard !drifts.isEmpty else { return nil }
        state.withLock { $0.drifts = drifts }
        return CassetteDriftError(
            file: file.relativePath, drifts: drifts,
            advice: adviceToRecord(
                or:
                    "if the change is meant, change the code that reads it, then `\(rewriteCommand)` records the test anew"
            ))
    }

    private func drifts(
        ofFailedTest: Bool
    ) throws -> (drifts: [CassetteDriftError.Drift], unmade: Set<Int>) {
        let live = try matchable(recorded().interactions)
        let recorded = try matchable(content.interactions())
        // An identifier of this run may by chance be that of another recorded item, so both readings are tried.
        let readings = try [false, true].map {
            try drifts(live, recorded, ofFailedTest: ofFailedTest, preferringRecordedValues: $0)
        }
        return readings[1].findingCount < readings[0].findingCount ? readings[1].result : readings[0].result
    }

    /// The differences, with the identifiers that the server gave in this run in place of the recorded ones: where a
    /// request has no recording as it is, or wherever that gives a request that has one.
    private func drifts(
        _ live: [Interaction], _ recorded: [Interaction], ofFailedTest: Bool, preferringRecordedValues: Bool
    ) throws -> (result: (drifts: [CassetteDriftError.Drift], unmade: Set<Int>), findingCount: Int) {
        var index = PlaybackIndex(
            recorded.lazy.map(\.request), rules: rules, owners: owners)
        let scanner = SecretScanner(rules)
        var values = AnswerValues()
        var drifts: [CassetteDriftError.Drift] = []
        for (place, interaction) in live.enumerated() {
            let request = scanner.masked("\(interaction.request.method) \(interaction.request.url)")
            let versions = values.versions(of: interaction.request)
            let ordinal = try index.take(
                firstOf: preferringRecordedValues
                    ? versions + [interaction.request] : [interaction.request] + versions,
                recorded: { recorded[$0].request })
            if ofFailedTest, interaction.response == nil { continue }
            guard let ordinal else {
                let unrecorded = UnrecordedRequest(interaction.request, after: live[..<place], redactor, scanner)
                let line = unrecorded.nearest(of: recorded, played: index.played, rules: rules).map { nearest in
                    unrecorded.line(naming: recorded[nearest].request, at: content.line(of: nearest))
                }
                let lines = [line, unrecorded.redirection].compactMap(\.self)
                drifts.append(.init(request: request, changes: ["is not recorded"] + lines, line: nil))
                continue
            }
            if let old = recorded[ordinal].response, let new = interaction.response { values.learn(from: old, new) }
            let changes = recorded[ordinal].drift(to: interaction, masking: scanner)
            guard !changes.isEmpty else { continue }
            drifts.append(
                .init(request: request, changes: changes.map(scanner.masked), line: content.line(of: ordinal)))
        }
        let unmade = Set(recorded.indices).subtracting(index.played)
        return ((drifts, unmade), drifts.count + unmade.count)
    }

    private func matchable(_ interactions: [Interaction]) -> [Interaction] {
        interactions.map { interaction in
            var interaction = interaction
            interaction.request = redactor.matchable(interaction.request)
            return interaction
        }
    }
}
