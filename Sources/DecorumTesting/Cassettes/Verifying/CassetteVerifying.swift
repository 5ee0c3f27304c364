import Decorum
import DecorumArchive
import Foundation
import Synchronization

extension Cassette {
    /// Throws if the live answers differ from the recorded ones.
    ///
    /// - Returns: The recorded interactions whose requests were not made; other tests of the suite may make them.
    func verify() throws -> Set<Int> {
        var (drifts, unmade) = try drifts()
        if !isShared, rules.unused == .fail {
            let scanner = SecretScanner(rules)
            drifts += try unmade.sorted().map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                return .init(
                    request: scanner.masked("\(request.method) \(request.url)"),
                    changes: ["is recorded, and no longer requested"])
            }
        }
        if let error = error(of: drifts) { throw error }
        return isShared ? unmade : []
    }

    /// The differences of the live answers in ``CassetteMode/verify``, for a test that has failed and so does not finish
    /// its cassette; nil if there are none.
    ///
    /// A request that was not made is no difference then, since the test may have ended early.
    package func driftOfFailedTest() async -> CassetteDriftError? {
        guard mode == .verify else { return nil }
        await endRecordings()
        return (try? drifts()).flatMap { error(of: $0.drifts) }
    }

    /// The error for differences, which are kept for the report of the run.
    private func error(of drifts: [CassetteDriftError.Drift]) -> CassetteDriftError? {
        guard !drifts.isEmpty else { return nil }
        state.withLock { $0.drifts = drifts }
        return CassetteDriftError(
            file: file.relativePath, drifts: drifts, advice: adviceToRecord(or: "`CASSETTE=rewrite` records it anew"))
    }

    private func drifts() throws -> (drifts: [CassetteDriftError.Drift], unmade: Set<Int>) {
        let live = try matchable(recorded().interactions)
        let recorded = try matchable(content.interactions())
        // An identifier of this run may by chance be that of another recorded item, so both readings are tried.
        let readings = try [false, true].map { try drifts(live, recorded, preferringRecordedValues: $0) }
        return readings[1].findingCount < readings[0].findingCount ? readings[1].result : readings[0].result
    }

    /// The differences, with the identifiers that the server gave in this run in place of the recorded ones: where a
    /// request has no recording as it is, or wherever that gives a request that has one.
    private func drifts(
        _ live: [Interaction], _ recorded: [Interaction], preferringRecordedValues: Bool
    ) throws -> (result: (drifts: [CassetteDriftError.Drift], unmade: Set<Int>), findingCount: Int) {
        var index = PlaybackIndex(
            recorded.lazy.map(\.request), rules: rules, owners: owners)
        let scanner = SecretScanner(rules)
        var values = AnswerValues()
        var drifts: [CassetteDriftError.Drift] = []
        for interaction in live {
            let request = scanner.masked("\(interaction.request.method) \(interaction.request.url)")
            let versions = [interaction.request, values.applied(to: interaction.request)].compactMap(\.self)
            guard
                let ordinal = try index.take(
                    firstOf: preferringRecordedValues ? versions.reversed() : versions,
                    recorded: { recorded[$0].request })
            else {
                drifts.append(.init(request: request, changes: ["is not recorded"]))
                continue
            }
            if let old = recorded[ordinal].response, let new = interaction.response { values.learn(from: old, new) }
            let changes = recorded[ordinal].drift(to: interaction)
            if !changes.isEmpty { drifts.append(.init(request: request, changes: changes.map(scanner.masked))) }
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

extension Interaction {
    /// The differences in kind between a live exchange and the recorded one: status, media type, shape of JSON,
    /// failure.
    fileprivate func drift(to live: Interaction) -> [String] {
        var changes: [String] = []
        if exchangeFailure != live.exchangeFailure {
            changes.append("outcome  was \(failure?.kind ?? "a response"), is \(live.failure?.kind ?? "a response")")
        }
        guard let old = response, let new = live.response else { return changes }
        if old.status != new.status { changes.append("status  was \(old.status), is \(new.status)") }
        let types = [old, new].map { ($0.fields[.contentType] ?? "nothing").prefix { $0 != ";" }.lowercased() }
        if types[0] != types[1] { changes.append("media type  was \(types[0]), is \(types[1])") }
        // Another media type tells already that the content is JSON now, or no longer.
        let isOtherType = types[0] != types[1]
        let isStream = types.allSatisfy { $0 == "text/event-stream" }
        let shapes = [old, new].map { isStream ? JSONShape(ofEvents: $0.body.bytes) : JSONShape(of: $0.body.bytes) }
        switch (shapes[0], shapes[1]) {
        case (let old?, let new?): changes += old.drift(to: new, path: isStream ? "events" : "$")
        case (_?, nil) where isOtherType, (nil, _?) where isOtherType: break
        case (_?, nil): changes.append((isStream ? "events  are" : "content  is") + " no JSON any more")
        case (nil, _?): changes.append((isStream ? "events  are" : "content  is") + " JSON now")
        case (nil, nil): break
        }
        return changes
    }

    /// The failure of the exchange itself; the end of a recording is not one.
    private var exchangeFailure: RecordedFailure? { failure?.isCut == true ? nil : failure }
}
