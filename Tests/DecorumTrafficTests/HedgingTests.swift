import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
final class HedgingTests: Sendable {
    /// An answer after some milliseconds; the status 0 stands for a lost connection.
    typealias Answer = (code: Int, time: Int)

    private enum Mark: RequestOptionKey {
        @TaskLocal static var value = 0
        static let defaultValue = false
        static let travels: OptionTravel = []
    }

    private let clock = SimulatedClock()
    private let policy = HedgingPolicy(largestShare: 1, budget: RetryBudget())
    private let notes = Mutex<[String]>([])

    private func note(_ note: String) { notes.withLock { $0.append(note) } }

    private func answer(_ answer: Answer, as name: String = "") -> StubConnection.Answer {
        { [self] _ in
            do { try await clock.sleep(for: .milliseconds(answer.time)) } catch {
                note("\(name) cancelled")
                throw error
            }
            guard answer.code > 0 else { throw TransportError(.connectionLost, at: .head) }
            return Response(status: .init(code: answer.code), body: Body(name))
        }
    }

    /// A stub that answers 20 requests in 10 ms each, and then by these closures.
    private func stub(_ answers: StubConnection.Answer...) -> StubConnection {
        StubConnection(answers: [StubConnection.Answer](repeating: answer((200, 10)), count: 20) + answers)
    }

    /// Sends a request after 20 others, so that its wait is 10.2 ms; returns its outcome and its time after all has ended.
    private func send(
        over stub: some Connection, in call: CallContext? = nil, cancelledAfter limit: Int? = nil,
        _ change: @escaping @Sendable (inout Request) -> Void = { _ in }
    ) throws -> (outcome: String, time: Duration) {
        try clock.run { [self] in
            let connection = AnyConnection(stub.hedging(policy, clock: clock))
            var request = try Request.get("https://a.example/")
            for _ in 0..<20 { _ = try await connection.send(request) }
            request.options.callContext = call
            change(&request)
            let start = clock.now
            let task = Task(priority: .high) { [request] in try await connection.send(request) }
            if let limit {
                try await clock.sleep(for: .milliseconds(limit))
                task.cancel()
            }
            let (result, time) = (await task.result, clock.now - start)
            try await clock.sleep(for: .seconds(200))
            switch result {
            case .success(let response):
                let hedge = response.metadata.hedge.map { ", \($0)" } ?? ""
                let name = try await response.body.text(upTo: 9)
                return ("\(name) \(response.status.code) of \(response.metadata.attempts)\(hedge)", time)
            case .failure(let error as TransportError): return ("first lost of \(error.attempts)", time)
            case .failure(let error): return ("\(error)", time)
            }
        }
    }

    @Test(
        arguments: [
            ((200, 5), (200, 5), "first 200 of 1"), ((0, 5), (200, 5), "first lost of 1"),
            ((200, 100), (200, 5), "second 200 of 2, won, first cancelled"),
            ((200, 20), (200, 100), "first 200 of 2, lost, second cancelled"),
            ((0, 15), (200, 20), "second 200 of 2, won"), ((503, 15), (200, 20), "second 200 of 2, won"),
            ((429, 15), (200, 20), "second 200 of 2, won"), ((200, 50), (0, 5), "first 200 of 2, lost"),
            ((200, 50), (503, 5), "first 200 of 2, lost"), ((200, 50), (429, 5), "first 200 of 2, lost"),
            ((404, 12), (200, 9), "first 404 of 2, lost, second cancelled"),
            ((0, 15), (503, 20), "first lost of 2"), ((0, 50), (503, 5), "first lost of 2"),
            ((503, 15), (0, 20), "first 503 of 2, lost"), ((503, 50), (0, 5), "first 503 of 2, lost"),
        ] as [(Answer, Answer, String)])
    func `The first good answer wins, else the first request`(first: Answer, second: Answer, outcome: String) throws {
        let stub = stub(answer(first, as: "first"), answer(second, as: "second"))
        let breakers = CircuitBreakers()
        let policy = CircuitPolicy(opensAfter: .failures(inARow: 1))
        let (found, time) = try send(over: stub.breakingCircuits(policy, in: breakers, clock: clock))
        #expect(([found] + notes.withLock { $0 }).joined(separator: ", ") == outcome)
        #expect(time < .milliseconds(60))
        // The loser that was cancelled is no failure.
        if first.code == 200, second.code == 200 { #expect(breakers.circuits.map(\.state) == [.closed]) }
    }

    @Test func `Nobody waits for a first request that does not end, and both have what the caller has`() throws {
        let told: @Sendable (Request) -> Void = { [self] request in
            note("\(Mark.value) \(Task.currentPriority == .high) \(request.options[Mark.self])")
        }
        let stuck: StubConnection.Answer = { [self] request in
            told(request)
            // A task of its own is not cancelled.
            await withTaskCancellationHandler(
                operation: { await Task { try? await clock.sleep(for: .seconds(100)) }.value },
                onCancel: { note("cancelled") })
            return Response(
                status: .ok, body: Body("first").observed { [self] in if case .abandoned = $0 { note("dropped") } })
        }
        let second: StubConnection.Answer = { [self] request in
            told(request)
            return try await answer((200, 5), as: "second")(request)
        }
        let call = CallContext()
        let (outcome, time) = try Mark.$value.withValue(7) {
            try send(over: stub(stuck, second), in: call) { $0.options[Mark.self] = true }
        }
        #expect(outcome == "second 200 of 2, won" && time < .milliseconds(20) && call.attempts == 2)
        #expect(notes.withLock { $0 } == ["7 true true", "7 true false", "cancelled", "dropped"])
        let words = ["no answer within 10.2 ms, in which nearly all come", "the second request has won"]
        #expect(call.history.filter { $0.layer == "hedging" }.map(\.words) == words)
    }

    @Test(arguments: [(5, ["first cancelled"]), (15, ["first cancelled", "second cancelled"])])
    func `A caller who is cancelled leaves at once, and ends what was sent`(limit: Int, ends: [String]) throws {
        let stub = stub(answer((200, 100), as: "first"), answer((200, 100), as: "second"))
        let (outcome, time) = try send(over: stub, cancelledAfter: limit)
        #expect(outcome == "CancellationError()" && time == .milliseconds(limit))
        #expect(notes.withLock { $0 }.sorted() == ends)
    }

    @Test func `Only a safe request on a known route with time left and a body to read again is sent twice`() throws {
        let changes: [@Sendable (inout Request, SimulatedClock) -> Void] = [
            { request, _ in request.head.method = .post }, { request, _ in request.head.method = .put },
            { request, _ in request.options.routeName = "feed" },
            { request, _ in request.body = Body(length: nil, replay: .once) { _ in try await Body("x").open() } },
            { request, clock in request.options.deadline = clock.now + .milliseconds(20) },
        ]
        let call = CallContext()
        for change in changes {
            let (outcome, _) = try send(over: stub(answer((200, 15))), in: call) { [clock] in change(&$0, clock) }
            #expect(outcome == " 200 of 1")
        }
        let words = call.history.map(\.description).filter { $0.hasPrefix("hedging") }
        #expect(words == ["hedging: no second request: the deadline is too near"])
    }

    @Test(arguments: [TrackingSpawner(), SystemSpawner()] as [any TaskSpawner])
    func `Answers, the end of the wait and a cancellation end a call once`(spawner: any TaskSpawner) async throws {
        let clock = VirtualClock()
        let current = Mutex<Gate?>(nil)
        let stub = StubConnection { request in
            clock.advance(by: .milliseconds(current.withLock { $0 } == nil ? 10 : 0))
            try await current.withLock { $0 }?.wait()
            return Response(status: .ok)
        }
        let connection = AnyConnection(stub.hedging(policy, clock: clock, spawner: spawner))
        for _ in 0..<20 { _ = try await connection.send(.get("https://a.example/")) }
        for round in 0..<(Footprint.isSoak ? 20_000 : 300) {
            let gate = Gate()
            current.withLock { $0 = gate }
            let task = Task { try await connection.send(.get("https://a.example/")) }
            try await gate.waitForWaiting(1)
            async let opening: Void = gate.open()
            clock.advance(by: .milliseconds(11))
            if round % 2 == 0 { task.cancel() }
            await opening
            do { #expect(try await task.value.status == .ok) } catch is CancellationError where round % 2 == 0 {}
        }
        try await (spawner as? TrackingSpawner)?.finished()
        #expect(clock.pendingSleeps.count <= 1)
    }

    @Test func `The layer says what it is, and whether its numbers make sense`() {
        let policies = [0.95, 1, .nan].map { HedgingPolicy(percentile: $0) } + [0, 2].map { .init(largestShare: $0) }
        let layers = policies.map { StubConnection().hedging($0, clock: clock).layers[0] }
        #expect(layers.map { $0.facts.contains(.unsoundSettings) } == [false, true, true, true, true])
        #expect(layers[0].facts.isSuperset(of: [.resends, .readsStatus, .hedges]) && layers[0].sending.times == 1...2)
        #expect(layers[0].description == "hedging(percentile: 0.95, largestShare: 0.05)")
    }

    private static let laws = DecoratorLaw.all.excluding(
        .shownDeclarations, because: "It sends twice only after many answers, and then only for a slow one.")

    @Test(arguments: laws, [0, 20])
    func `The layer keeps the laws, also when it may send twice`(law: DecoratorLaw, answers: Int) async throws {
        let origin = try Origin(DecoratorLaw.origin)
        try await law.check { [policy] base, conditions in
            let clock = conditions.clock
            let gate = HedgeGate(policy: policy, clock: clock, spawner: SystemSpawner()) { try await base.send($0) }
            let route = gate.routes.state(of: .init(origin: origin, name: nil)) { HedgedRoute(clock: clock) }
            for _ in 0..<answers { route.update { $0.note(.answer, after: .seconds(100), at: gate.now, by: policy) } }
            return HedgingConnection(base: base, gate: gate)
        }
    }
}

@Suite(.timeLimit(.minutes(3)))
struct HedgingStateTests {
    private let policy = HedgingPolicy(percentile: 0.5, largestShare: 0.05)

    /// A state after a number of answers, of which the last one came at zero.
    private func state(after answers: Int, of time: Duration = .milliseconds(10)) -> HedgeState {
        var state = HedgeState()
        for _ in 0..<answers {
            _ = state.begin(at: .zero, by: policy)
            state.note(.answer, after: time, at: .zero, by: policy)
        }
        return state
    }

    @Test(
        arguments: [
            (0, 10, 0, nil), (19, 10, 0, nil), (20, 10, 0, 10), (100, 10, 0, 10), (30, 0.02, 0, 1), (20, -1000, 0, 1),
            (20, 1e21, 0, 130_000), (20, 5, 29, 5), (20, 5, 59.9, 5), (20, 5, 61, nil), (20, 5, 1e6, nil),
        ] as [(Int, Double, Double, Double?)])
    func `The wait follows from twenty answers of the last half to whole minute, and is at least a millisecond`(
        answers: Int, time: Double, seconds: Double, wait: Double?
    ) {
        var state = state(after: answers, of: .milliseconds(time))
        var found: Duration?
        for time in [min(30, seconds), seconds] { found = state.begin(at: .seconds(time), by: policy) }
        #expect((found == nil) == (wait == nil))
        if let found, let wait { #expect(abs(found / .milliseconds(1) - wait) < wait * 0.07) }
    }

    @Test(
        arguments: [
            (40, 0.01, 0.01, nil, true, nil), (40, 0.01, 0.01, 0.011, true, nil),
            (40, 0.01, 0.01, 0.01, true, .deadline), (40, 0.01, 2, 0, false, .deadline),
            (40, 0.01, 0.999, nil, true, nil), (40, 0.01, 1, nil, true, .noAnswers),
            (40, 2, 3.9, nil, true, nil), (40, 2, 4, nil, true, .noAnswers),
            (19, 0.01, 0.01, nil, true, .share), (20, 0.01, 0.01, nil, true, nil), (0, 0.01, 0.01, nil, true, .share),
            (40, 0.01, 0.01, nil, false, .budget),
        ] as [(Int, Double, Double, Double?, Bool, HedgeRefusal?)])
    func `A second request needs time, answers, a share and a budget`(
        answers: Int, wait: Double, passed: Double, left: Double?, hasBudget: Bool, refusal: HedgeRefusal?
    ) {
        var state = state(after: answers)
        for time in [0, passed / 2] { _ = state.begin(at: .seconds(time), by: policy) }
        let left = left.map { Duration.seconds($0) }
        let found = state.refusal(after: .seconds(wait), at: .seconds(passed), timeLeft: left) { hasBudget }
        #expect(found == refusal)
    }

    @Test func `A caller who leaves says nothing of the server, unless others still wait for it`() {
        var state = state(after: 40)
        for time in [0, 0.5] { _ = state.begin(at: .seconds(time), by: policy) }
        for refusal in [HedgeRefusal.noAnswers, nil] {
            state.note(.cancellation, after: .seconds(0.9), at: .seconds(0.9), by: policy)
            #expect(state.refusal(after: .seconds(0.01), at: .seconds(2), timeLeft: nil) { true } == refusal)
        }
    }

    @Test(arguments: [(0.05, 10), (1, 10), (-1, 0), (0, 0), (-Double.infinity, 0), (.nan, 0)])
    func `At most ten second requests are saved up, and none for a share of zero`(share: Double, count: Int) {
        var state = HedgeState()
        let policy = HedgingPolicy(largestShare: share)
        for _ in 0..<1000 { state.note(.answer, after: .milliseconds(10), at: .zero, by: policy) }
        let refusals = (0...count).map { _ in state.refusal(after: .seconds(1), at: .zero, timeLeft: nil) { true } }
        #expect(refusals == [HedgeRefusal?](repeating: nil, count: count) + [.share])
    }

    @Test(arguments: [0.5, 0.9, 0.95, 0.99, 0, 1])
    func `A percentile is known to a few percent`(part: Double) throws {
        let generator = SeededGenerator(seed: 3)
        let times = (0..<5000).map { _ in 0.001 + 30 * generator.uniform() * generator.uniform() }
        var latencies = LatencyPercentiles()
        for time in times { latencies.add(.seconds(time), at: .zero) }
        let found = latencies.value(of: part, at: .zero)
        let exact = times.sorted()[min(Int(part * 5000), 4999)]
        #expect(abs(try #require(found) / .seconds(1) - exact) <= exact * 0.07)
    }

    @Test func `A second request takes a retry from the budget that retries use, and from no other`() async throws {
        let (clock, budget) = (VirtualClock(), RetryBudget())
        func takes(_ budget: RetryBudget, _ url: String = "https://a.example/") throws -> Bool {
            budget.takeHedge(for: try Request.get(url).head, at: clock.now, on: clock)
        }
        #expect(try takes(budget) && takes(budget))
        let retrying = StubConnection { _ in Response(status: .ok) }.retrying(RetryPolicy(budget: budget), clock: clock)
        _ = try await retrying.send(.get("https://a.example/"))
        #expect(try [takes(budget), takes(budget)] == [true, false])
        for _ in 0..<5 { _ = try await retrying.send(.get("https://a.example/")) }
        #expect(try takes(budget) && takes(budget, "https://b.example/"))
        #expect(try takes(.unlimited) && takes(.perCall(1)) && takes(.shared) && !takes(.perCall(0)))
    }
}

/// The figures of second requests, in simulated time.
@Suite(.timeLimit(.minutes(10)))
struct HedgingWorkloadTests {
    /// The workload of a published hedging library: most answers take 5 ms, and one of twenty takes ten times as long.
    private static let workload = SimulatedDelay(
        mean: .milliseconds(5), deviation: .milliseconds(2), stragglers: 0.05, stragglerFactor: 10)

    @Test(arguments: [(0.927, 0.075, 0.30), (0.95, 0.05, 0.50)])
    func `Second requests cut the slowest answers for few requests`(part: Double, share: Double, left: Double) throws {
        let calls = Footprint.isSoak ? 50_000 : 5000
        let (clock, generator) = (SimulatedClock(), SeededGenerator(seed: 1))
        let requests = Mutex(0)
        let stub = ClosureConnection { _ in
            requests.withLock { $0 += 1 }
            try await clock.sleep(for: .nanoseconds(Self.workload.draw(using: generator)))
            return Response(status: .ok)
        }
        let policy = HedgingPolicy(percentile: part, largestShare: share, budget: .unlimited)
        let connection = AnyConnection(stub.hedging(policy, clock: clock))
        let times = try clock.run { () async throws -> [Duration] in
            var times: [Duration] = []
            for _ in 0..<calls {
                let start = clock.now
                _ = try await connection.send(.get("https://a.example/"))
                times.append(clock.now - start)
            }
            return times.sorted()
        }
        let alone = (0..<calls).map { _ in Duration.nanoseconds(Self.workload.draw(using: generator)) }.sorted()
        let (before, after) = (alone[calls * 99 / 100], times[calls * 99 / 100])
        let further = Double(requests.withLock { $0 } - calls) / Double(calls)
        #expect(after <= before * left && further <= share)
    }

    @Test func `In an outage, no second request begins after two seconds, until good answers are back`() throws {
        let server = SimulatedServer { ($0.workers, $0.work) = (100, Self.workload) }
        let down = SimulatedServer { $0.losses = 1 }
        // Each client has ten calls in a second when the outage begins, so that it learns of it at once.
        let phases: [(Double, Double, SimulatedServer)] = [
            (0, 200, server), (19, 1000, server), (20, 1000, down), (23, 200, down), (50, 200, server),
        ]
        let scenario = Scenario(
            named: "outage", phases: phases.map { .init(from: .seconds($0), rate: $1, server: $2) },
            length: .seconds(65))
        let seen = Mutex((hedges: [Duration](), answers: [Duration](), refusals: 0))
        _ = try simulate(against: scenario, clients: 100) { transport, clock, _ in
            transport
                .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                .hedging(HedgingPolicy(budget: .unlimited), clock: clock)
                .intercepting { request, base in
                    var request = request
                    request.options.callContext = CallContext(keepingHistory: 0) { decision in
                        if decision.kind == .resends { seen.withLock { $0.hedges.append(clock.time) } }
                        let isRefused = decision.words.hasSuffix(HedgeRefusal.noAnswers.rawValue)
                        if isRefused { seen.withLock { $0.refusals += 1 } }
                    }
                    let response = try await base.send(request)
                    seen.withLock { $0.answers.append(clock.time) }
                    return response
                }
        }
        let (hedges, answers, refusals) = seen.withLock { $0 }
        let back = try #require(answers.first { $0 > .seconds(50) })
        let spans = [.zero ..< .seconds(20), .seconds(20) ..< .seconds(22), .seconds(22)..<back, back ..< .seconds(99)]
        let counts = spans.map { span in hedges.count(where: span.contains) }
        #expect(counts.map { $0 > 0 } == [true, true, false, true], "\(counts)")
        #expect(refusals > 1000)
    }
}
