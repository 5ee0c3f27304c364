import Decorum

/// The comparison of what a test has sent and got in ``CassetteMode/verify`` with what is recorded.
///
/// It reads the requests with the identifiers that the server gave in this run in place of the recorded ones: where a request
/// has no recording as it is, or wherever that gives a request that has one.
struct Verification {
    private typealias Drift = CassetteDriftError.Drift

    private let cassette: Cassette
    private let live: [Interaction]
    private let recorded: [Interaction]
    private let hasFailed: Bool
    private let scanner: SecretScanner
    private let locations: LocationComparison
    private var values = AnswerValues()
    private var found: [(place: Int, drift: Drift)] = []
    private var unrecorded: [UnrecordedRequest] = []
    /// The places of the live answers, by the recorded requests that they answer.
    private var places: [Int: Int] = [:]
    /// The places of requests that were sent in place of recorded ones.
    private var replacements: [Int: Int] = [:]
    /// The recorded interactions whose requests were not made, without those that a difference explains.
    private(set) var unmade: Set<Int> = []
    /// The number of differences, by which two readings are compared.
    private(set) var findingCount = 0

    /// Compares interactions, whose requests are redacted as for matching.
    init(
        of live: [Interaction], against recorded: [Interaction], in cassette: Cassette, hasFailed: Bool,
        preferringRecordedValues: Bool = false
    ) throws {
        self.cassette = cassette
        self.live = live
        self.recorded = recorded
        self.hasFailed = hasFailed
        scanner = SecretScanner(cassette.rules)
        locations = LocationComparison(of: cassette)
        try compareAnswers(preferringRecordedValues: preferringRecordedValues)
        findingCount = found.count + unrecorded.count + unmade.count
        addRecoveries()
        addUnrecorded()
        addLosses()
        if hasFailed { addAccepted() }
    }

    /// The differences in the order of the live requests.
    var drifts: [CassetteDriftError.Drift] { found.sorted { $0.place < $1.place }.map(\.drift) }

    /// The places of the live requests that stand for recorded ones, also of those that were sent in their place.
    var answered: [Int: Int] { places.merging(replacements) { own, _ in own } }

    private mutating func compareAnswers(preferringRecordedValues: Bool) throws {
        let (rules, redactor) = (cassette.rules, cassette.redactor)
        var index = PlaybackIndex(recorded.lazy.map(\.request), rules: rules, owners: cassette.owners)
        var leads = NewLeads(matchable: redactor.matchable(url:))
        for (place, interaction) in live.enumerated() {
            let versions = values.versions(of: interaction.request)
            let next = rules.order == .strict ? index.cursor : nil
            let ordinal = try index.take(
                firstOf: preferringRecordedValues
                    ? versions + [interaction.request] : [interaction.request] + versions,
                recorded: { recorded[$0].request })
            if hasFailed, interaction.response == nil { continue }
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
            addAnswer(at: place, to: ordinal, moves: moves)
        }
        unmade = Set(recorded.indices).subtracting(index.played)
    }

    /// Adds the difference of a live answer to a recorded one, if there is one; `moves` are those of its `Location`.
    private mutating func addAnswer(at place: Int, to ordinal: Int, moves: [String]) {
        let changes = recorded[ordinal].drift(to: live[place], masking: scanner) + moves
        guard !changes.isEmpty else { return }
        found.append((place, drift(of: changes, at: ordinal, place, cause: recorded[ordinal].cause(in: live[place]))))
    }

    /// Adds the recorded failures that the server did not have, so that their retries were not sent.
    private mutating func addRecoveries() {
        let (content, foreign) = (cassette.content, cassette.owners.foreign)
        let recoveries = Recoveries(
            recorded, answers: places.mapValues { live[$0] }, rules: cassette.rules.matching
        ).all(among: unmade.subtracting(foreign))
        for recovery in recoveries {
            guard let place = places[recovery.failure] else { continue }
            unmade.subtract(recovery.retries)
            for retry in recovery.retries { places[retry] = place }
            found.removeAll { $0.place == place }
            let words = recovery.words(for: recorded[recovery.failure], line: content.line(of:))
            found.append((place, drift(of: [words], at: recovery.failure, place, cause: .recovery)))
            // The answer stands in place of the one to the last retry.
            guard let ordinal = recovery.answered else { continue }
            let moves = locations.drift(from: recorded[ordinal], to: live[place], knowing: values)
            addAnswer(at: place, to: ordinal, moves: moves)
        }
    }

    /// Adds the requests that have no recording, with the recorded ones in whose place they were sent.
    private mutating func addUnrecorded() {
        let others = UnrecordedRequests(
            of: cassette, recorded: recorded.map(\.request), masking: scanner, hasFailed: hasFailed
        ).drifts(of: unrecorded, leaving: unmade)
        let replaced = Dictionary(others.places.map { ($0.value, $0.key) }) { one, _ in one }
        for (place, drift) in others.drifts {
            let changes = replaced[place].map { answerDrift(recorded[$0], live[place]) } ?? []
            found.append((place, drift.adding(changes)))
        }
        unmade = others.unmade
        // A request that is sent in place of a recorded one also takes its place in the order.
        replacements = others.places
    }

    /// The differences in the answer to a request that is sent in place of a recorded one, if both succeed: an error follows
    /// from the request.
    private func answerDrift(_ recorded: Interaction, _ live: Interaction) -> [String] {
        guard recorded.succeeds, live.succeeds else { return [] }
        return recorded.drift(to: live, masking: scanner).map { scanner.masked("answer  \($0)") }
    }

    /// Adds to answers the requests to which they no longer lead.
    private mutating func addLosses() {
        guard !unmade.isEmpty, hasFailed || cassette.rules.unused == .fail else { return }
        let lost = LostRequests(
            recorded, answers: places.mapValues { live[$0] }, matchable: cassette.redactor.matchable(url:))
        for loss in lost.losses(among: unmade.subtracting(cassette.owners.foreign)) {
            guard let place = places[loss.source] else { continue }
            unmade.subtract(loss.requests)
            let known = indexOfAnswer(at: place).map { found.remove(at: $0).drift }
            found.append((place, drift(of: loss, known: known, place)))
        }
    }

    /// Adds what fails no test by itself, and may be the reason why this one has failed.
    private mutating func addAccepted() {
        for (ordinal, place) in places.sorted(by: { $0.key < $1.key }) {
            let accepted = recorded[ordinal]
                .acceptedDrift(to: live[place], ignoring: cassette.rules.ignoredFields).map(scanner.masked)
            guard !accepted.isEmpty else { continue }
            if let index = indexOfAnswer(at: place) {
                found[index].drift = found[index].drift.adding(accepted: accepted)
            } else {
                let told = drift(of: [], at: ordinal, place, cause: .accepted)
                found.append((place, told.adding(accepted: accepted)))
            }
        }
    }

    /// The index of the difference in the answer at a place.
    private func indexOfAnswer(at place: Int) -> Int? {
        found.firstIndex { $0.place == place && $0.drift.cause != .recovery }
    }
}

extension Verification {
    /// The changes in the answer to the request of a recorded interaction.
    private func drift(
        of changes: [String], at ordinal: Int, _ place: Int, cause: CassetteDriftError.Cause
    ) -> CassetteDriftError.Drift {
        let request = live[place].request
        return .init(
            request: scanner.masked("\(request.method) \(request.url)"), changes: changes.map(scanner.masked),
            line: cassette.content.line(of: ordinal), cause: cause)
    }

    /// The difference of an answer that no longer leads to requests, together with its other changes.
    private func drift(
        of loss: LostRequests.Loss, known: CassetteDriftError.Drift?, _ place: Int
    ) -> CassetteDriftError.Drift {
        let content = cassette.content
        let changes = loss.changes(
            recorded[loss.source], live[place], shown: cassette.redactor.shown(url:)
        ) { ordinal in
            let request = recorded[ordinal].request
            return "\(request.method) \(request.url)" + InteractionPlace.suffix(line: content.line(of: ordinal))
        }
        let cause = recorded[loss.source].cause(in: live[place])
        let others = known?.changes ?? []
        // A `Location` that is missing is told already.
        let further = changes.map(scanner.masked).filter { !others.contains($0) }
        return drift(of: others + further, at: loss.source, place, cause: cause == .answer ? .lead : cause)
    }
}
