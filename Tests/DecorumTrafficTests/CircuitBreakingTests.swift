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
struct CircuitBreakingTests {
    private let clock = VirtualClock()
    private let breakers = CircuitBreakers()
    private let policy = CircuitPolicy(opensAfter: .failures(inARow: 2))

    private func breaking(_ base: some Connection, _ policy: CircuitPolicy? = nil) -> some Connection {
        base.breakingCircuits(
            policy ?? self.policy, in: breakers, clock: clock, generator: CircuitStateTests.Chance())
    }

    /// Sends requests that fail, until the circuit is open.
    private func fail(_ connection: some Connection, _ url: String = "https://a.example/") async throws {
        for _ in 0..<2 { #expect(try await connection.send(.get(url)).status.code == 503) }
    }

    @Test func `Requests to an origin that keeps failing are refused, and no others`() async throws {
        let stub = StubConnection { _ in Response(status: .serviceUnavailable) }
        let connection = breaking(stub)
        try await fail(connection)

        let call = CallContext()
        var request = try Request.get("https://a.example/secret?token=1")
        request.options.callContext = call
        let sent = request
        let error = try await #require(throws: CircuitOpenError.self) { try await connection.send(sent) }
        _ = try await connection.send(.get("https://b.example/"))

        #expect(stub.requests.count == 3)
        #expect(error.circuit == .origin(try Origin("https://a.example")))
        #expect(error.instant == clock.now + .milliseconds(2500) && error.wait == .milliseconds(2500))
        #expect(error.date == clock.date + 2.5)
        #expect(error.meansNotProcessed && error.meansServerNotReached && error.mayPass)
        #expect(error.earliestRetry == error.instant)
        #expect(
            error.description == "The request to a.example:443 was not sent, because the last requests have failed. "
                + "Send it in 2.50 s, not before Tue, 14 Nov 2023 22:13:22 GMT.")
        let words = "breakingCircuits: not sent: the circuit is open for another 2.50 s"
        #expect(call.history.map(\.description) == [words])
    }

    @Test func `Different spellings of an origin share a circuit`() async throws {
        let connection = breaking(StubConnection { _ in Response(status: .serviceUnavailable) })
        _ = try await connection.send(.get("https://a.example/"))
        _ = try await connection.send(.get("https://A.example:443/"))
        await #expect(throws: CircuitOpenError.self) { try await connection.send(.get("https://a.example/")) }
        #expect(breakers.circuits.map(\.description) == ["the circuit of a.example:443 is open"])
    }

    @Test func `A group has a circuit of its own`() async throws {
        let connection = breaking(
            StubConnection { request in
                Response(status: request.options.group == nil ? .ok : .serviceUnavailable)
            }, CircuitPolicy(opensAfter: .failures(inARow: 1), scope: .group))
        var request = try Request.get("https://a.example/")
        _ = try await connection.send(request)
        request.options.group = "images"
        let grouped = request
        _ = try await connection.send(grouped)
        let error = await #expect(throws: CircuitOpenError.self) { try await connection.send(grouped) }
        #expect(error?.description.hasPrefix("The request of the group images was not sent") == true)
        _ = try await connection.send(.get("https://a.example/"))
        #expect(breakers.circuits.map(\.key) == [.all, .group("images")])
    }

    @Test func `A probe closes the circuit, and the observer and the history see each change`() async throws {
        let changes = Mutex<[String]>([])
        let breakers = CircuitBreakers { circuit in changes.withLock { $0.append(circuit.description) } }
        let stub = StubConnection(
            answers: [{ _ in throw TransportError(.connectionLost, at: .head) }], then: { _ in Response(status: .ok) })
        let connection = stub.breakingCircuits(
            CircuitPolicy(opensAfter: .failures(inARow: 1)), in: breakers, clock: clock)
        let call = CallContext()
        var request = try Request.get("https://a.example/")
        request.options.callContext = call
        let sent = request
        await #expect(throws: TransportError.self) { try await connection.send(sent) }
        clock.advance(by: .seconds(5))
        _ = try await connection.send(sent)

        let name = "the circuit of a.example:443 is"
        #expect(changes.withLock { $0 } == ["\(name) open", "\(name) half open", "\(name) closed"])
        #expect(call.history.map(\.kind.description) == ["sends", "opens", "probes", "sends", "closes"])
    }

    @Test func `A cancelled probe gives its place back`() async throws {
        let gate = Gate()
        let stub = StubConnection(
            answers: [
                { _ in Response(status: .serviceUnavailable) }, { _ in Response(status: .serviceUnavailable) },
                { _ in
                    try await gate.wait()
                    return Response(status: .ok)
                },
            ], then: { _ in Response(status: .ok) })
        let connection = breaking(stub)
        try await fail(connection)
        clock.advance(by: .seconds(5))

        let probe = Task { try await connection.send(.get("https://a.example/")) }
        try await gate.waitForWaiting(1)
        await #expect(throws: CircuitOpenError.self) { try await connection.send(.get("https://a.example/")) }
        probe.cancel()
        await #expect(throws: CancellationError.self) { try await probe.value }

        _ = try await connection.send(.get("https://a.example/"))
        #expect(breakers.circuits.map(\.state) == [.closed])
    }

    @Test func `Of many requests at the end of a break, one is sent`() async throws {
        let gate = Gate()
        let busy: StubConnection.Answer = { _ in Response(status: .serviceUnavailable) }
        let stub = StubConnection(answers: [busy, busy]) { _ in
            try await gate.wait()
            return Response(status: .ok)
        }
        let connection = AnyConnection(breaking(stub))
        try await fail(connection)
        clock.advance(by: .seconds(5))

        let refused = Monitor(0)
        async let sent = withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    if (try? await connection.send(.get("https://a.example/"))) != nil { return 1 }
                    return 1 - min(1, refused.increment())
                }
            }
            return await group.reduce(0, +)
        }
        try await refused.wait { $0 == 99 }
        gate.open()
        #expect(await sent == 1)
        #expect(stub.requests.count == 3)
    }

    @Test func `A request whose deadline has passed is no probe and no failure`() async throws {
        let stub = StubConnection(clock: clock) { _ in Response(status: .serviceUnavailable) }
        let connection = breaking(stub)
        var late = try Request.get("https://a.example/")
        late.options.deadline = clock.now
        let request = late
        for _ in 0..<3 { await #expect(throws: TransportError.self) { try await connection.send(request) } }
        #expect(breakers.circuits.map(\.state) == [.closed])

        try await fail(connection)
        clock.advance(by: .seconds(5))
        await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(breakers.circuits.map(\.state) == [.halfOpen])
        #expect(try await connection.send(.get("https://a.example/")).status == .serviceUnavailable)
    }

    @Test func `The timeout of an attempt counts, also where a layer further out ends it`() async throws {
        let stub = StubConnection(clock: clock) { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(60), tolerance: nil)
            return Response(status: .ok)
        }
        let times = AttemptTimePolicy(.seconds(1))
        for isOutside in [false, true] {
            let breakers = CircuitBreakers()
            let policy = CircuitPolicy(opensAfter: .failures(inARow: 1))
            let connection: any Connection =
                isOutside
                ? stub.breakingCircuits(policy, in: breakers, clock: clock)
                    .limitingTime(times, as: .attempt, clock: clock)
                : stub.limitingTime(times, as: .attempt, clock: clock)
                    .breakingCircuits(policy, in: breakers, clock: clock)
            let call = Task { try await connection.send(.get("https://a.example/")) }
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(1))
            await #expect(throws: TransportError.self) { try await call.value }
            #expect(breakers.circuits.first?.state != .closed)
        }
    }

    @Test func `A layer that only observes sends all requests, and tells what would happen`() async throws {
        var policy = policy
        policy.onlyObserves = true
        let stub = StubConnection { _ in Response(status: .serviceUnavailable) }
        let connection = breaking(stub, policy)
        try await fail(connection)
        let call = CallContext()
        var request = try Request.get("https://a.example/")
        request.options.callContext = call
        #expect(try await connection.send(request).status == .serviceUnavailable)

        let words = "breakingCircuits: would not send: the circuit is open for another 2.50 s"
        #expect(call.history.first?.description == words)
        #expect(stub.requests.count == 3)
        #expect(breakers.circuits.first?.state == .open(until: clock.now + .milliseconds(2500)))
        #expect(!connection.layers[0].facts.contains(.refuses))
    }

    @Test func `A circuit is opened and closed by hand, also before its first request`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = breaking(stub)
        let key = TrafficKey.origin(try Origin("https://a.example"))
        breakers.open(key)
        let error = try await #require(throws: CircuitOpenError.self) {
            try await connection.send(.get("https://a.example/"))
        }
        #expect(!error.mayPass && error.instant == nil && error.date == nil)
        #expect(
            error.description == "The request to a.example:443 was not sent, because the circuit was opened by hand. "
                + "Close it by `CircuitBreakers.close(_:)`.")
        breakers.close(key)
        _ = try await connection.send(.get("https://a.example/"))
        #expect(stub.requests.count == 1)
    }

    @Test func `A cache further out answers with a stale response`() async throws {
        let stub = StubConnection(
            answers: [
                { _ in Response(status: .ok, fields: [.cacheControl: "max-age=1, stale-if-error=60"], body: "stored") }
            ], then: { _ in throw TransportError(.connectionLost, at: .head) })
        let connection = breaking(stub).caching(in: MemoryResponseStore(), clock: clock)
        for _ in 0..<4 {
            #expect(try await connection.send(.get("https://a.example/")).body.text(upTo: 100) == "stored")
            clock.advance(by: .seconds(2))
        }
        #expect(stub.requests.count == 3)
        #expect(breakers.circuits.map(\.state) != [.closed])
    }

    @Test func `A layer that retries waits for the end of the break, and burns no attempts`() async throws {
        let clock = ImpatientClock()
        let start = clock.now
        let stub = StubConnection(
            answers: [{ _ in Response(status: .serviceUnavailable) }], then: { _ in Response(status: .ok) })
        let connection = stub.breakingCircuits(
            CircuitPolicy(opensAfter: .failures(inARow: 1), firstBreak: .seconds(20)), clock: clock,
            generator: CircuitStateTests.Chance()
        ).retrying(RetryPolicy(retries: 2, baseDelay: .milliseconds(1), budget: .unlimited), clock: clock)

        #expect(try await connection.send(.get("https://a.example/")).status == .ok)
        #expect(clock.now - start >= .seconds(10))
        #expect(stub.requests.count == 2)
    }

    @Test func `Many origins keep some hundreds of circuits, and all that were opened by hand`() async throws {
        let connection = breaking(StubConnection { _ in Response(status: .ok) })
        let kept = TrafficKey.origin(try Origin("https://kept.example"))
        breakers.open(kept)
        for number in 0..<600 {
            clock.advance(by: .seconds(1))
            _ = try await connection.send(.get("https://\(number).example/"))
            _ = try await connection.send(.get("https://used.example/"))
        }
        let keys = Set(breakers.circuits.map(\.key))
        #expect(keys.count == 256)
        #expect(keys.isSuperset(of: [kept, .origin(try Origin("https://used.example"))]))
        #expect(!keys.contains(.origin(try Origin("https://0.example"))))
        await #expect(throws: CircuitOpenError.self) { try await connection.send(.get("https://kept.example/")) }
    }

    @Test(arguments: DecoratorLaw.all) func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        let down = DecoratorLaw.ActivePath("a server that is down", times: 4) { _, _ in
            Response(status: .serviceUnavailable)
        }
        try await law.check(answering: [down]) { base, conditions in
            base.breakingCircuits(CircuitPolicy(opensAfter: .failures(inARow: 3)), clock: conditions.clock)
        }
    }
}
