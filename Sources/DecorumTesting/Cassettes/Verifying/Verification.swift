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
    /// The places of answers without a failure, by the recorded requests for a token that were not sent for it.
    private var spared: [Int: Int] = [:]
    private var failures: TransientFailures
    private var leads: NewLeads
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
        leads = NewLeads(matchable: cassette.redactor.matchable(url:))
        failures = TransientFailures(
            recorded, foreign: cassette.owners.foreign, isSorted: cassette.opening != nil, live: live,
            rules: cassette.rules.matching)
        try compareAnswers(preferringRecordedValues: preferringRecordedValues)
        findingCount = found.count + unrecorded.count + unmade.count
        let ownUnmade = hasFailed || cassette.rules.unused == .fail ? unmade.subtracting(cassette.owners.foreign) : []
        if !found.isEmpty || !unrecorded.isEmpty || !ownUnmade.isEmpty { addTokenLives() }
        addUnrecorded()
        addLosses()
        if hasFailed || unrecorded.contains(where: { $0.lead != nil }) { addAccepted() }
    }

    /// The differences in the order of the live requests.
    var drifts: [CassetteDriftError.Drift] { found.sorted { $0.place < $1.place }.map(\.drift) }

    /// The places of the live requests that stand for recorded ones, also of those that were sent in their place.
    var answered: [Int: Int] { places.merging(replacements.merging(spared) { own, _ in own }) { own, _ in own } }

    private mutating func compareAnswers(preferringRecordedValues: Bool) throws {
        let rules = cassette.rules
        var index = PlaybackIndex(recorded.lazy.map(\.request), rules: rules, owners: cassette.owners)
        for (place, interaction) in live.enumerated() where !failures.explains(live: place) {
            let versions = values.versions(of: interaction.request)
            let next = rules.order == .strict ? index.cursor : nil
            let ordinal = try index.take(
                firstOf: preferringRecordedValues
                    ? versions + [interaction.request] : [interaction.request] + versions,
                recorded: { recorded[$0].request })
            guard let ordinal else {
                if hasFailed, interaction.response == nil { continue }
                unrecorded.append(
                    UnrecordedRequest(
                        place: place, sent: interaction.request, comparable: versions.last ?? interaction.request,
                        next: next, lead: leads.words(to: interaction.request)))
                leads.add(interaction, inPlaceOf: nil, knowing: values)
                continue
            }
            let played = index.played
            if let failure = failures.recordedFailure(
                at: ordinal, answeredAt: place, isLeft: { !played.contains($0) })
            {
                try index.skip(failure.consequences, recorded: { recorded[$0].request })
                add(failure, recordedAt: ordinal, place)
            } else if let failure = failures.liveFailure(at: place, recordedAt: ordinal) {
                add(failure, liveAt: place, ordinal)
            } else if !hasFailed || interaction.response != nil {
                compareAnswer(at: place, to: ordinal)
            }
        }
        unmade = Set(recorded.indices).subtracting(index.played)
    }

    /// Adds the difference of a live answer to a recorded one, if there is one, and learns the values of the run from it.
    private mutating func compareAnswer(at place: Int, to ordinal: Int, adding others: [String] = []) {
        let moves = locations.drift(from: recorded[ordinal], to: live[place], knowing: values)
        if let old = recorded[ordinal].response, let new = live[place].response { values.learn(from: old, new) }
        leads.add(live[place], inPlaceOf: recorded[ordinal], knowing: values)
        if places[ordinal] == nil { places[ordinal] = place }
        let validators = lostValidator(at: ordinal, place)
        let changes = validators + recorded[ordinal].drift(to: live[place], masking: scanner) + moves + others
        guard !changes.isEmpty else { return }
        let cause = validators.isEmpty ? recorded[ordinal].cause(in: live[place]) : .lead
        found.append((place, drift(of: changes, at: ordinal, place, cause: cause)))
    }

    /// Adds a recorded failure that the server did not have, so that the requests which follow from it were not sent.
    private mutating func add(_ failure: TransientFailure, recordedAt ordinal: Int, _ place: Int) {
        let words = failure.words(forRecorded: recorded[ordinal], name: name(ofRecorded:)) {
            cassette.content.line(of: $0)
        }
        found.append((place, drift(of: [words], at: ordinal, place, cause: .recovery)))
        for other in [ordinal] + failure.repeats { places[other] = place }
        for other in failure.others { spared[other] = place }
        // The answer stands in place of the one to the last repeat.
        if let answered = failure.answered { compareAnswer(at: place, to: answered) }
    }

    /// Adds a failure of the server that the recording does not have; the answer to the last repeat is the one to compare.
    private mutating func add(_ failure: TransientFailure, liveAt place: Int, _ ordinal: Int) {
        let words = failure.words(forLive: live[place]) { "\(live[$0].request.method) \(live[$0].request.url)" }
        guard let answered = failure.answered else {
            // The test tells a failure of the connection itself.
            guard !hasFailed || live[place].response != nil else { return }
            return compareAnswer(at: place, to: ordinal, adding: [words])
        }
        let reason = live[place].isRefused ? live[place].response?.excerpt(masking: scanner) : nil
        let changes = [words] + [reason].compactMap(\.self).map { "content  \($0)" }
        let cause = live[place].isRefused ? CassetteDriftError.Cause.renewal : .transient
        found.append((place, drift(of: changes, at: ordinal, place, cause: cause)))
        compareAnswer(at: answered, to: ordinal)
    }

    /// Adds the tokens with another life than the recorded ones, which is why requests are sent in addition, or no more.
    private mutating func addTokenLives() {
        for (ordinal, place) in places.sorted(by: { $0.key < $1.key }) {
            guard let old = recorded[ordinal].response, let new = live[place].response,
                let change = TokenLife.drift(from: old.body.bytes, to: new.body.bytes)
            else { continue }
            addAccepted([change], at: ordinal, place)
            indexOfAnswer(at: place).map { found[$0].drift.hasTokenLife = true }
        }
    }

    /// Adds the requests that have no recording, with the recorded ones in whose place they were sent.
    private mutating func addUnrecorded() {
        let causes: Set<CassetteDriftError.Cause> = [.answer, .lead, .outage, .refusal, .otherError]
        let otherAnswers = Set(found.filter { causes.contains($0.drift.cause) }.map(\.place))
        let others = UnrecordedRequests(
            of: cassette, recorded: recorded.map(\.request), masking: scanner, hasFailed: hasFailed
        ).drifts(
            of: unrecorded, leaving: unmade, differing: Set(places.filter { otherAnswers.contains($0.value) }.keys))
        let replaced = Dictionary(others.places.map { ($0.value, $0.key) }) { one, _ in one }
        for (place, drift) in others.drifts {
            let changes = replaced[place].map { recorded[$0].answerDrift(to: live[place], masking: scanner) } ?? []
            found.append((place, drift.adding(changes)))
        }
        unmade = others.unmade
        // A request that is sent in place of a recorded one also takes its place in the order.
        replacements = others.places
    }

    /// Adds to answers the requests to which they no longer lead.
    private mutating func addLosses() {
        guard !unmade.isEmpty, hasFailed || cassette.rules.unused == .fail else { return }
        var lost = LostRequests(
            recorded, answers: places.mapValues { live[$0] }, matchable: cassette.redactor.matchable(url:))
        for loss in lost.losses(among: unmade.subtracting(cassette.owners.foreign)) {
            guard let place = places[loss.source] else { continue }
            unmade.subtract(loss.requests)
            let known = indexOfAnswer(at: place).map { found.remove(at: $0).drift }
            found.append((place, drift(of: loss, known: known, place)))
        }
    }

    /// Adds what fails no test by itself, and may be the reason why this one has failed, or sends other requests.
    private mutating func addAccepted() {
        for (ordinal, place) in places.sorted(by: { $0.key < $1.key }) {
            addAccepted(
                recorded[ordinal].acceptedDrift(to: live[place], ignoring: cassette.rules.ignoredFields), at: ordinal,
                place)
        }
    }

    private mutating func addAccepted(_ changes: [String], at ordinal: Int, _ place: Int) {
        guard !changes.isEmpty else { return }
        let accepted = changes.map(scanner.masked)
        if let index = indexOfAnswer(at: place) {
            found[index].drift = found[index].drift.adding(accepted: accepted)
        } else {
            let told = drift(of: [], at: ordinal, place, cause: .accepted)
            found.append((place, told.adding(accepted: accepted)))
        }
    }

    /// The index of the difference in the answer at a place.
    private func indexOfAnswer(at place: Int) -> Int? {
        found.firstIndex { $0.place == place && ![.recovery, .transient, .renewal].contains($0.drift.cause) }
    }
}

extension Verification {
    private func lostValidator(at ordinal: Int, _ place: Int) -> [String] {
        let lost = LostValidator(from: recorded[ordinal], to: live[place])
        guard lost.isLost else { return [] }
        let url = recorded[ordinal].request.url
        let earlier = places.filter { $0.value < place && recorded[$0.key].request.url == url }
        let latestFirst = earlier.sorted { $0.value > $1.value }.lazy
        return lost.drift(after: latestFirst.map { (name(ofRecorded: $0), recorded[$0], live[$1]) })
    }

    private func name(ofRecorded ordinal: Int) -> String {
        let request = recorded[ordinal].request
        return "\(request.method) \(request.url)" + InteractionPlace.suffix(line: cassette.content.line(of: ordinal))
    }

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
        let changes = loss.changes(
            recorded[loss.source], live[place], shown: cassette.redactor.shown(url:), name: name(ofRecorded:))
        let cause = recorded[loss.source].cause(in: live[place])
        let others = known?.changes ?? []
        // A `Location` that is missing is told already.
        let further = changes.map(scanner.masked).filter { !others.contains($0) }
        var drift = drift(of: others + further, at: loss.source, place, cause: cause == .answer ? .lead : cause)
        drift.accepted = known?.accepted ?? []
        drift.hasTokenLife = known?.hasTokenLife ?? false
        return drift
    }
}
