import Decorum
import DecorumConformance
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
    private let busy: StubConnection.Answer = { _ in Response(status: .serviceUnavailable) }
    private let name = "the circuit of a.example:443 is"

    private func breaking(_ base: some Connection, _ policy: CircuitPolicy? = nil) -> AnyConnection {
        AnyConnection(
            base.breakingCircuits(
                policy ?? self.policy, in: breakers, clock: clock, generator: CircuitStateTests.Chance()))
    }

    /// Sends a request; returns its status, and the decisions of its call.
    @discardableResult private func send(
        to url: String = "https://a.example/", group: RequestGroup? = nil, deadline: ContinuousClock.Instant? = nil,
        over connection: AnyConnection
    ) async throws -> (status: Int, history: [CallDecision]) {
        let call = CallContext()
        let request = try Request.get(url, group: group, deadline: deadline, in: call)
        return (try await connection.send(request).status.code, call.history)
    }

    @Test func `Requests to an origin that keeps failing are refused, and no others`() async throws {
        let stub = StubConnection(answers: [], then: busy)
        let connection = breaking(stub)
        try await send(to: "https://A.example:443/", over: connection)
        let opening = try await send(over: connection)
        #expect(opening.history.map(\.description).last == "breakingCircuits: \(name) open")

        let secret = "https://a.example/secret?token=1"
        let error = try await #require(throws: CircuitOpenError.self) { try await send(to: secret, over: connection) }
        try await send(to: "https://b.example/", over: connection)
        #expect(stub.requests.count == 3)
        #expect(error.circuit == .origin(try Origin("https://a.example")))
        #expect(error.wait == .milliseconds(2500) && error.date == clock.date + 2.5)
        #expect(error.instant == clock.now + .milliseconds(2500) && error.earliestRetry == error.instant)
        #expect(error.meansNotProcessed && error.meansServerNotReached && error.mayPass)
        #expect(
            error.description == "The request to a.example:443 was not sent, because the last requests have failed. "
                + "Send it in 2.50 s, not before Tue, 14 Nov 2023 22:13:22 GMT.")
        #expect(breakers.circuits.first?.description == "\(name) open")
    }

    @Test func `After a break, one request is sent; one that is cancelled or late gives its place back`() async throws {
        let gate = Gate()
        let changes = Mutex<[String]>([])
        let breakers = CircuitBreakers { circuit in changes.withLock { $0.append(circuit.description) } }
        let waiting: StubConnection.Answer = { _ in try await gate.response() }
        let policy = CircuitPolicy(opensAfter: .failures(inARow: 1))
        func connection(_ answers: StubConnection.Answer...) -> AnyConnection {
            let stub = StubConnection(answers: answers, clock: clock) { _ in Response(status: .ok) }
            return AnyConnection(stub.breakingCircuits(policy, in: breakers, clock: clock))
        }
        func sendLate() async {
            await #expect(throws: TransportError.self) { try await send(deadline: clock.now, over: connection()) }
        }
        await sendLate()
        #expect(breakers.circuits.map(\.state) == [.closed])
        try await send(over: connection(busy))
        clock.advance(by: .seconds(5))
        await sendLate()
        let probe = Task { try await send(over: connection(waiting)) }
        try await gate.waitForWaiting(1)
        let error = await #expect(throws: CircuitOpenError.self) { try await send(over: connection()) }
        #expect(error?.wait == .seconds(5))
        probe.cancel()
        await #expect(throws: CancellationError.self) { try await probe.value }
        #expect(try await send(over: connection()).history.map(\.kind.description) == ["probes", "sends", "closes"])
        #expect(changes.withLock { $0 } == ["\(name) open", "\(name) half open", "\(name) closed"])
    }

    @Test func `The timeout of an attempt counts, also where a layer further out ends it`() async throws {
        let stub = StubConnection(clock: clock) { [clock] _ in
            try await clock.sleep(for: .seconds(60))
            return Response(status: .ok)
        }
        let policy = CircuitPolicy(opensAfter: .failures(inARow: 1))
        let connection = breaking(stub, policy).limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
        let call = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        await #expect(throws: TransportError.self) { try await call.value }
        #expect(breakers.circuits.first?.description == "\(name) open")
    }

    @Test func `A layer that only observes sends all requests, and tells what would happen`() async throws {
        let policy = CircuitPolicy(
            opensAfter: .ratio(1, ofAtLeast: 2, within: .seconds(9)), scope: .group, onlyObserves: true)
        let stub = StubConnection(answers: [], then: busy)
        let connection = breaking(stub, policy)
        for _ in 0..<2 { try await send(group: "images", over: connection) }
        let words = "breakingCircuits: would not send: the circuit is open for another 2.50 s"
        #expect(try await send(group: "images", over: connection).history.first?.description == words)
        #expect(try await send(over: connection).history.map(\.kind) == [.sends])
        #expect(stub.requests.count == 4)
        #expect(breakers.circuits.map(\.key) == [.all, .group("images")])
        #expect(breakers.circuits.last?.state == .open(until: clock.now + .milliseconds(2500)))
        let layers = [connection.layers[0], breaking(stub).layers[0]]
        #expect(layers.map { $0.facts.contains(.refuses) } == [false, true])
        #expect(layers.map(\.time.window) == [.seconds(9), nil])
    }

    @Test func `A circuit that was opened by hand is never forgotten, and closed by hand`() async throws {
        let connection = breaking(StubConnection { _ in Response(status: .ok) })
        let key = TrafficKey.origin(try Origin("https://a.example"))
        breakers.open(key)
        for number in 0..<600 { try await send(to: "https://\(number).example/", over: connection) }
        #expect(breakers.circuits.count == 256)
        let error = try await #require(throws: CircuitOpenError.self) { try await send(over: connection) }
        #expect(!error.mayPass && error.instant == nil && error.date == nil)
        let end = "was not sent, because the circuit was opened by hand. Close it by `CircuitBreakers.close(_:)`."
        #expect(error.description == "The request to a.example:443 " + end)
        let errors = [.group("images"), .all].map { CircuitOpenError(circuit: $0, instant: nil, date: nil, wait: nil) }
        #expect(errors.map(\.description) == ["The request of the group images " + end, "The request " + end])
        breakers.close(key)
        #expect(try await send(over: connection).status == 200)
    }

    @Test func `A cache further out answers with a stale response while the circuit is open`() async throws {
        let stored = Response(status: .ok, fields: [.cacheControl: "max-age=1, stale-if-error=60"], body: "stored")
        let stub = StubConnection(
            answers: [{ _ in stored }], then: { _ in throw TransportError(.connectionLost, at: .head) })
        let connection = breaking(stub).caching(in: MemoryResponseStore(), clock: clock)
        for _ in 0..<4 {
            #expect(try await connection.send(.get("https://a.example/")).body.text(upTo: 100) == "stored")
            clock.advance(by: .seconds(2))
        }
        #expect(stub.requests.count == 3 && breakers.circuits.first?.description == "\(name) open")
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
