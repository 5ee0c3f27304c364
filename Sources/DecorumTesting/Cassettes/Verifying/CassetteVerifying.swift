import Decorum
import DecorumArchive
import Foundation
import HTTPTypes
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
                    changes: ["is recorded, and no longer requested"], line: content.line(of: ordinal), cause: .request)
            }
        }
        if let error = error(of: drifts, ofFailedTest: false) { throw error }
        return isShared ? unmade : []
    }

    /// The differences of the live answers in ``CassetteMode/verify``, for a test that has failed and so does not finish
    /// its cassette; nil if there are none.
    ///
    /// A request that was not made is no difference then, since the test may have ended early, and neither is a failure of
    /// the connection, which the test tells itself. Differences that fail no test by themselves are told too, since they may
    /// be the reason.
    func driftOfFailedTest() async -> CassetteDriftError? {
        guard mode == .verify else { return nil }
        await endRecordings()
        return (try? drifts(ofFailedTest: true)).flatMap { error(of: $0.drifts, ofFailedTest: true) }
    }

    /// The error for differences, which are kept for the report of the run; nil if there are none that fail the test.
    private func error(of drifts: [CassetteDriftError.Drift], ofFailedTest: Bool) -> CassetteDriftError? {
        guard !drifts.isEmpty else { return nil }
        let causes = Set(drifts.map(\.cause)).subtracting([.accepted])
        let advice =
            causes == [.recovery]
            ? "keep the recording; a new one would lose the failure, which the test needs"
            : adviceToRecordOrShare(or: advice(for: causes, ofFailedTest: ofFailedTest))
        let error = CassetteDriftError(
            file: file.relativePath, drifts: drifts, advice: advice, order: noteOfOrder)
        guard ofFailedTest || causes != [.recovery] else {
            state.withLock { $0.recovery = error }
            return nil
        }
        state.withLock { $0.drifts = drifts.filter { $0.cause != .accepted } }
        return error
    }

    private func advice(for causes: Set<CassetteDriftError.Cause>, ofFailedTest: Bool) -> String {
        let loss = ", but loses the failure that the server does not have now"
        let rewriting =
            "`\(rewriteCommand)` records the test anew" + (causes.contains(.recovery) ? loss : "")
        if causes.contains(.outage) {
            let again = "`\(Self.command(.verify, for: testName))` asks the server again when it is well"
            return "\(again); a new recording would hold its failure"
        }
        if causes.contains(.request) || causes.contains(.addition) {
            return "change the code that sends the requests; if the change is meant, \(rewriting)"
        }
        if causes.contains(.refusal) { return "change the request that the code sends, then \(rewriting)" }
        if causes.contains(.lead) { return "mend the server; if the change is meant, \(rewriting)" }
        return "if the change is meant, " + (ofFailedTest ? "change the code that reads it, then " : "") + rewriting
    }

    private func drifts(
        ofFailedTest: Bool
    ) throws -> (drifts: [CassetteDriftError.Drift], unmade: Set<Int>) {
        let (interactions, events, _) = try self.recorded()
        let live = matchable(interactions)
        let recorded = try matchable(content.interactions())
        // An identifier of this run may by chance be that of another recorded item, so both readings are tried.
        let readings = try [false, true].map {
            try drifts(live, recorded, ofFailedTest: ofFailedTest, preferringRecordedValues: $0)
        }
        let reading = readings[1].findingCount < readings[0].findingCount ? readings[1] : readings[0]
        state.withLock { state in
            state.answered = reading.places.mapValues { $0 + 1 }
            state.underWay = reading.places.mapValues { events[$0] }
        }
        return reading.result
    }

    /// The differences, with the identifiers that the server gave in this run in place of the recorded ones: where a
    /// request has no recording as it is, or wherever that gives a request that has one.
    private func drifts(
        _ live: [Interaction], _ recorded: [Interaction], ofFailedTest: Bool, preferringRecordedValues: Bool
    ) throws -> (result: (drifts: [CassetteDriftError.Drift], unmade: Set<Int>), findingCount: Int, places: [Int: Int])
    {
        var index = PlaybackIndex(
            recorded.lazy.map(\.request), rules: rules, owners: owners)
        let scanner = SecretScanner(rules)
        let locations = LocationComparison(of: self)
        var values = AnswerValues()
        var leads = NewLeads(matchable: redactor.matchable(url:))
        var drifts: [(place: Int, drift: CassetteDriftError.Drift)] = []
        var unrecorded: [UnrecordedRequest] = []
        var places: [Int: Int] = [:]
        for (place, interaction) in live.enumerated() {
            let versions = values.versions(of: interaction.request)
            let next = rules.order == .strict ? index.cursor : nil
            let ordinal = try index.take(
                firstOf: preferringRecordedValues
                    ? versions + [interaction.request] : [interaction.request] + versions,
                recorded: { recorded[$0].request })
            if ofFailedTest, interaction.response == nil { continue }
            guard let ordinal else {
                unrecorded.append(
                    UnrecordedRequest(
                        place: place, sent: interaction.request, comparable: versions.last ?? interaction.request,
                        next: next, lead: leads.words(to: interaction.request)))
                leads.add(interaction, inPlaceOf: nil, knowing: values)
                continue
            }
            let moves = locations.drift(from: recorded[ordinal], to: interaction, knowing: values)
            if let old = recorded[ordinal].response, let new = interaction.response { values.learn(from: old, new) }
            leads.add(interaction, inPlaceOf: recorded[ordinal], knowing: values)
            if places[ordinal] == nil { places[ordinal] = place }
            let changes = recorded[ordinal].drift(to: interaction, masking: scanner) + moves
            guard !changes.isEmpty else { continue }
            let drift = drift(
                of: changes, at: ordinal, cause: recorded[ordinal].cause(in: interaction), live: interaction, scanner)
            drifts.append((place, drift))
        }
        let unmade = Set(recorded.indices).subtracting(index.played)
        let count = drifts.count + unrecorded.count + unmade.count
        let recoveries = Recoveries(recorded, answers: places.mapValues { live[$0] }, rules: rules.matching)
            .all(among: unmade.subtracting(owners.foreign))
        for recovery in recoveries {
            guard let place = places[recovery.failure] else { continue }
            for retry in recovery.retries { places[retry] = place }
            drifts.removeAll { $0.place == place }
            let words = recovery.words(for: recorded[recovery.failure], line: content.line(of:))
            let told = drift(of: [words], at: recovery.failure, cause: .recovery, live: live[place], scanner)
            drifts.append((place, told))
            // The answer stands in place of the one to the last retry.
            guard let ordinal = recovery.answered else { continue }
            let changes =
                recorded[ordinal].drift(to: live[place], masking: scanner)
                + locations.drift(from: recorded[ordinal], to: live[place], knowing: values)
            guard !changes.isEmpty else { continue }
            let cause = recorded[ordinal].cause(in: live[place])
            drifts.append((place, drift(of: changes, at: ordinal, cause: cause, live: live[place], scanner)))
        }
        let others = UnrecordedRequests(
            of: self, recorded: recorded.map(\.request), masking: scanner, hasFailed: ofFailedTest
        ).drifts(of: unrecorded, leaving: unmade.subtracting(recoveries.flatMap(\.retries)))
        let replaced = Dictionary(others.places.map { ($0.value, $0.key) }) { one, _ in one }
        for (place, drift) in others.drifts {
            let changes = replaced[place].map { answerDrift(recorded[$0], live[place], scanner) } ?? []
            drifts.append((place, drift.adding(changes)))
        }
        var left = others.unmade
        // A request that is sent in place of a recorded one also takes its place in the order.
        let answered = places.merging(others.places) { own, _ in own }
        if !left.isEmpty, ofFailedTest || rules.unused == .fail {
            let lost = LostRequests(
                recorded, answers: places.mapValues { live[$0] }, matchable: redactor.matchable(url:))
            for loss in lost.losses(among: left.subtracting(owners.foreign)) {
                guard let place = places[loss.source] else { continue }
                left.subtract(loss.requests)
                let known = drifts.firstIndex { $0.place == place && $0.drift.cause != .recovery }
                    .map { drifts.remove(at: $0).drift }
                drifts.append((place, drift(of: loss, known: known, recorded, live: live[place], scanner)))
            }
        }
        if ofFailedTest {
            for (ordinal, place) in places.sorted(by: { $0.key < $1.key }) {
                let accepted = recorded[ordinal].acceptedDrift(to: live[place], ignoring: rules.ignoredFields)
                    .map(scanner.masked)
                guard !accepted.isEmpty else { continue }
                if let index = drifts.firstIndex(where: { $0.place == place && $0.drift.cause != .recovery }) {
                    drifts[index].drift = drifts[index].drift.adding(accepted: accepted)
                } else {
                    let told = drift(of: [], at: ordinal, cause: .accepted, live: live[place], scanner)
                    drifts.append((place, told.adding(accepted: accepted)))
                }
            }
        }
        return ((drifts.sorted { $0.place < $1.place }.map(\.drift), left), count, answered)
    }

    /// The changes in the answer to the request of a recorded interaction.
    private func drift(
        of changes: [String], at ordinal: Int, cause: CassetteDriftError.Cause, live: Interaction,
        _ scanner: SecretScanner
    ) -> CassetteDriftError.Drift {
        .init(
            request: scanner.masked("\(live.request.method) \(live.request.url)"),
            changes: changes.map(scanner.masked), line: content.line(of: ordinal), cause: cause)
    }

    /// The differences in the answer to a request that is sent in place of a recorded one, if both succeed: an error follows from
    /// the request.
    private func answerDrift(_ recorded: Interaction, _ live: Interaction, _ scanner: SecretScanner) -> [String] {
        guard recorded.succeeds, live.succeeds else { return [] }
        return recorded.drift(to: live, masking: scanner).map { scanner.masked("answer  \($0)") }
    }

    /// The difference of an answer that no longer leads to requests, together with its other changes.
    private func drift(
        of loss: LostRequests.Loss, known: CassetteDriftError.Drift?, _ recorded: [Interaction], live: Interaction,
        _ scanner: SecretScanner
    ) -> CassetteDriftError.Drift {
        let changes = loss.changes(recorded[loss.source], live, shown: redactor.shown(url:)) { ordinal in
            let request = recorded[ordinal].request
            return "\(request.method) \(request.url)" + (content.line(of: ordinal).map { " (line \($0))" } ?? "")
        }
        let cause = recorded[loss.source].cause(in: live)
        let others = known?.changes ?? []
        // A `Location` that is missing is told already.
        let further = changes.map(scanner.masked).filter { !others.contains($0) }
        return .init(
            request: scanner.masked("\(live.request.method) \(live.request.url)"),
            changes: others + further, line: content.line(of: loss.source),
            cause: cause == .answer ? .lead : cause)
    }

    private func matchable(_ interactions: [Interaction]) -> [Interaction] {
        interactions.map { interaction in
            var interaction = interaction
            interaction.request = redactor.matchable(interaction.request)
            return interaction
        }
    }
}
