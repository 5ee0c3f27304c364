import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct HedgingTests {
    private let clock = VirtualClock()
    private let spawner = TrackingSpawner()
    private let policy = HedgingPolicy(largestShare: 1, budget: RetryBudget())

    /// A stub that answers 20 requests in 10 ms each, and then by these closures.
    private func stub(_ answers: StubConnection.Answer...) -> StubConnection {
        let quick: StubConnection.Answer = { [clock] _ in
            clock.advance(by: .milliseconds(10))
            return Response(status: .ok)
        }
        return StubConnection(answers: [StubConnection.Answer](repeating: quick, count: 20) + answers)
    }

    /// A connection that has measured the times of 20 answers.
    private func warm(_ stub: some Connection, _ policy: HedgingPolicy? = nil) async throws -> AnyConnection {
        let connection = stub.hedging(policy ?? self.policy, clock: clock, spawner: spawner)
        for _ in 0..<20 { _ = try await connection.send(.get("https://a.example/")) }
        return AnyConnection(connection)
    }

    /// Sends a request, and moves the time to the wait of 10 ms for a second one.
    private func hedge(
        _ connection: AnyConnection, _ call: CallContext? = nil,
        _ change: (inout Request) -> Void = { _ in }
    ) async throws -> Task<Response, any Error> {
        var request = try Request.get("https://a.example/")
        request.options.callContext = call
        change(&request)
        let task = Task { [request] in try await connection.send(request) }
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(11))
        return task
    }

    private static func answer(_ code: Int = 200, _ text: String = "", after gate: Gate) -> StubConnection.Answer {
        { _ in
            try await gate.wait()
            return Response(status: .init(code: code), body: Body(text))
        }
    }

    private static func failure(_ code: TransportError.Code, after gate: Gate) -> StubConnection.Answer {
        { _ in
            try await gate.wait()
            throw TransportError(code, at: .head)
        }
    }

    @Test func `A second request wins, and nobody waits for a first one that does not end`() async throws {
        let (stuck, second) = (Gate(), Gate())
        let (wasCancelled, wasDropped) = (Gate(), Gate())
        let stub = stub(
            { _ in
                await withTaskCancellationHandler {
                    await Task { try? await stuck.wait() }.value
                    let body = Body("first").observed { event in
                        if case .abandoned = event { wasDropped.open() }
                    }
                    return Response(status: .ok, body: body)
                } onCancel: {
                    wasCancelled.open()
                }
            }, Self.answer(200, "second", after: second))
        let connection = try await warm(stub)
        let call = CallContext()
        let task = try await hedge(connection, call)
        try await second.waitForWaiting(1)
        second.open()

        let response = try await task.value
        #expect(try await response.body.text(upTo: 100) == "second")
        #expect(response.metadata.attempts == 2 && response.metadata.hedge == .won)
        #expect(
            call.history.map(\.description).filter { $0.hasPrefix("hedging") } == [
                "hedging: no answer within 10.2 ms, in which nearly all come", "hedging: the second request has won",
            ])
        #expect(call.attempts == 2)
        try await wasCancelled.wait()
        stuck.open()
        try await wasDropped.wait()
        try await spawner.finished()
    }

    @Test func `Two answers, the end of the wait and a cancellation at once end a call once`() async throws {
        let current = Mutex(Gate())
        let stub = StubConnection { [clock] request in
            guard request.options.group == "gated" else {
                clock.advance(by: .milliseconds(10))
                return Response(status: .ok)
            }
            try await current.withLock { $0 }.wait()
            return Response(status: .ok)
        }
        let connection = try await warm(stub)
        for round in 0..<(Footprint.isSoak ? 20_000 : 300) {
            let gate = Gate()
            current.withLock { $0 = gate }
            let task = Task {
                var request = try Request.get("https://a.example/")
                request.options.group = "gated"
                return try await connection.send(request)
            }
            try await gate.waitForWaiting(1)
            async let opening: Void = gate.open()
            clock.advance(by: .milliseconds(11))
            if round % 2 == 0 { task.cancel() }
            await opening
            do {
                #expect(try await task.value.status == .ok)
            } catch is CancellationError where round % 2 == 0 {
            }
        }
        try await spawner.finished()
        #expect(clock.pendingSleeps.count <= 1)
    }

    @Test func `A first request wins, and the second one is cancelled`() async throws {
        let (first, second) = (Gate(), Gate())
        let connection = try await warm(stub(Self.answer(after: first), Self.answer(after: second)))
        let task = try await hedge(connection)
        try await second.waitForWaiting(1)
        first.open()
        let response = try await task.value
        #expect(response.metadata.attempts == 2 && response.metadata.hedge == .lost)
        try await spawner.finished()
        #expect(second.waitingCount == 0)
    }

    @Test func `An answer in time needs no second request`() async throws {
        let gate = Gate()
        let stub = stub(Self.answer(200, "first", after: gate))
        let connection = try await warm(stub)
        let task = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        gate.open()
        let response = try await task.value
        #expect(response.metadata.attempts == 1 && response.metadata.hedge == nil)
        clock.advance(by: .seconds(1))
        try await spawner.finished()
        #expect(stub.requests.count == 21)
    }

    @Test(arguments: [false, true])
    func `After a failure of one, the other one is waited for`(isFirst: Bool) async throws {
        for status in [nil, 503, 429] {
            let (failing, other) = (Gate(), Gate())
            let lost = Self.failure(.connectionLost, after: failing)
            let failure = status.map { Self.answer($0, after: failing) } ?? lost
            let answer = Self.answer(200, "good", after: other)
            let connection = try await warm(isFirst ? stub(failure, answer) : stub(answer, failure))
            let task = try await hedge(connection)
            try await other.waitForWaiting(1)
            try await failing.waitForWaiting(1)
            failing.open()
            #expect(await soon { spawner.runningCount == 1 })
            other.open()
            let response = try await task.value
            #expect(response.status == .ok && response.metadata.hedge == (isFirst ? .won : .lost))
            try await spawner.finished()
        }
    }

    @Test(arguments: [false, true])
    func `If both fail, the caller gets the outcome of the first one`(isFirstFirst: Bool) async throws {
        let (first, second) = (Gate(), Gate())
        let connection = try await warm(
            stub(Self.failure(.connectionLost, after: first), Self.failure(.timedOut, after: second)))
        let task = try await hedge(connection)
        try await second.waitForWaiting(1)
        (isFirstFirst ? first : second).open()
        #expect(await soon { spawner.runningCount == 1 })
        (isFirstFirst ? second : first).open()
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.code == .connectionLost && error?.attempts == 2)
    }

    @Test func `A failure before the wait ends is the outcome`() async throws {
        let stub = stub({ _ in throw TransportError(.connectionLost, at: .head) })
        let connection = try await warm(stub)
        let error = await #expect(throws: TransportError.self) { try await connection.send(.get("https://a.example/")) }
        #expect(error?.attempts == 1)
        #expect(stub.requests.count == 21)
    }

    @Test func `Only a safe request with a body that can be read again is sent twice`() async throws {
        let slow: StubConnection.Answer = { [clock] _ in
            clock.advance(by: .seconds(1))
            return Response(status: .ok)
        }
        let stub = stub(slow, slow, slow)
        let connection = try await warm(stub)
        _ = try await connection.send(Request(.post, "https://a.example/"))
        _ = try await connection.send(Request(.put, "https://a.example/"))
        let once = Body(length: nil, replay: .once) { _ in try await Body("x").open() }
        _ = try await connection.send(
            Request(.init("QUERY") ?? .get, "https://a.example/", fields: [.contentType: "text/plain"], body: once))
        #expect(spawner.spawnedCount == 0)
        #expect(clock.pendingSleeps.isEmpty)
    }

    @Test func `A caller who is cancelled ends both`() async throws {
        let (first, second) = (Gate(), Gate())
        let connection = try await warm(stub(Self.answer(after: first), Self.answer(after: second)))
        let task = try await hedge(connection)
        try await second.waitForWaiting(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await spawner.finished()
        #expect(first.waitingCount == 0)
    }

    @Test func `Near the deadline, nothing is sent, and the history says why`() async throws {
        let gate = Gate()
        let stub = stub(Self.answer(200, "first", after: gate))
        let connection = try await warm(stub)
        let call = CallContext()
        let end = clock.now + .milliseconds(20)
        let task = try await hedge(connection, call) { $0.options.deadline = end }
        #expect(await soon { call.history.count == 2 })
        gate.open()
        #expect(try await task.value.metadata.attempts == 1)
        #expect(call.history.last?.description == "hedging: no second request: the deadline is too near")
        #expect(stub.requests.count == 21)
    }

    @Test func `The second request keeps the user and the options that go on to attempts`() async throws {
        enum FirstOnly: RequestOptionKey {
            static let defaultValue = false
            static let travels: OptionTravel = []
        }
        let (first, second) = (Gate(), Gate())
        let stub = stub(Self.answer(after: first), Self.answer(after: second))
        let connection = try await warm(stub)
        let task = try await hedge(connection) { request in
            request.options.principal = Principal("user")
            request.options.group = "images"
            request.options[FirstOnly.self] = true
        }
        try await second.waitForWaiting(1)
        second.open()
        _ = try await task.value
        let sent = stub.requests.suffix(2).map(\.options)
        #expect(sent.allSatisfy { $0.principal == Principal("user") && $0.group == "images" })
        #expect(sent.map { $0[FirstOnly.self] } == [true, false])
    }

    @Test func `Routes are measured apart`() async throws {
        let gate = Gate()
        let connection = try await warm(stub(Self.answer(after: gate)))
        var request = try Request.get("https://a.example/")
        request.options.routeName = "feed"
        let task = Task { [request] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        #expect(clock.pendingSleeps.isEmpty && spawner.spawnedCount == 0)
        gate.open()
        _ = try await task.value
    }

    @Test func `A cancelled loser is no failure for a circuit`() async throws {
        let (first, second) = (Gate(), Gate())
        let breakers = CircuitBreakers()
        let stub = stub(Self.answer(after: first), Self.answer(after: second))
        let connection = try await warm(
            stub.breakingCircuits(CircuitPolicy(opensAfter: .failures(inARow: 1)), in: breakers, clock: clock))
        let task = try await hedge(connection)
        try await second.waitForWaiting(1)
        second.open()
        _ = try await task.value
        try await spawner.finished()
        #expect(breakers.circuits.map(\.state) == [.closed])
    }

    @Test(arguments: [
        (HedgingPolicy.standard, true), (HedgingPolicy(percentile: 1), false), (HedgingPolicy(percentile: .nan), false),
        (HedgingPolicy(largestShare: 0), false), (HedgingPolicy(largestShare: 2), false),
    ])
    func `The layer says what it is, and whether its numbers make sense`(policy: HedgingPolicy, isSound: Bool) {
        let layer = StubConnection().hedging(policy, clock: clock).layers[0]
        #expect(layer.facts.contains(.unsoundSettings) != isSound)
        #expect(layer.facts.isSuperset(of: [.resends, .readsStatus, .hedges]) && !layer.facts.contains(.readsClock))
        #expect(layer.sending.times == 1...2 && layer.time.waiting == .atMost(.zero))
        #expect(layer.description.hasPrefix("hedging(percentile: "))
        let other = StubConnection().hedging(self.policy, clock: clock).retrying(
            RetryPolicy(budget: self.policy.budget), clock: clock)
        #expect(!other.layers[0].memory.state.isDisjoint(with: other.layers[1].memory.state))
    }

    private static let laws = DecoratorLaw.all.excluding(
        .shownDeclarations, because: "It sends twice only after many answers, and then only for a slow one.")

    @Test(arguments: laws) func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { [policy] base, conditions in base.hedging(policy, clock: conditions.clock) }
    }

    @Test(arguments: laws) func `The layer keeps the laws when it may send twice`(law: DecoratorLaw) async throws {
        let origin = try Origin(DecoratorLaw.origin)
        try await law.check { [policy] base, conditions in
            let clock = conditions.clock
            let connection = HedgingConnection(base: base, policy: policy, clock: clock, spawner: SystemSpawner())
            let route = connection.gate.routes.state(of: .init(origin: origin, name: nil)) { HedgedRoute(clock: clock) }
            for _ in 0..<20 {
                route.update { $0.noteAnswer(after: .seconds(100), at: connection.gate.now, by: policy) }
            }
            return connection
        }
    }
}
