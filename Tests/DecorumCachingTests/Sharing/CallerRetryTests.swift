import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Retries of a request that is sent for several callers, each with a deadline of its own.
@Suite(.timeLimit(.minutes(3))) struct CallerRetryTests {
    enum Sharing: String, CaseIterable, Sendable { case coalescing, caching, both }

    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let gate = Gate()

    private func connection(_ sharing: Sharing, over base: some Connection, waiting delay: Duration) -> any Connection {
        let policy = RetryPolicy(
            retries: 9, baseDelay: delay, factor: 1, maximumDelay: delay, certainPart: 1, budget: .unlimited)
        let retrying = base.retrying(policy, clock: clock)
        let store = MemoryResponseStore()
        return switch sharing {
        case .coalescing: retrying.coalescing(clock: clock, spawner: spawner)
        case .caching: retrying.caching(in: store, clock: clock, spawner: spawner)
        case .both:
            retrying.coalescing(clock: clock, spawner: spawner).caching(in: store, clock: clock, spawner: spawner)
        }
    }

    private func page(within time: Duration?) throws -> Request {
        var request = try Request.get("https://a.example/page")
        request.options.deadline = time.map { clock.now + $0 }
        return request
    }

    private static let page = Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "page")

    @Test(arguments: Sharing.allCases, [8, nil])
    func `A layer further in learns how long the last caller waits`(sharing: Sharing, longest: Int?) async throws {
        let stub = StubConnection { [gate, clock] request in
            try await gate.wait()
            #expect(request.options.timeLeft(at: clock.now) == longest.map { .seconds($0) })
            return Self.page
        }
        let connection = connection(sharing, over: stub, waiting: .seconds(1))
        let requests = try [5, longest, 3].map { try page(within: $0.map { .seconds($0) }) }
        let callers = await Callers.start(3) { number in try await connection.send(requests[number]).status }
        try await gate.waitForWaiting(1)
        gate.open()
        for caller in callers { #expect(try await caller.value == .ok) }
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: Sharing.allCases)
    func `When the first is cancelled, the deadline of the next counts`(sharing: Sharing) async throws {
        let stub = StubConnection(answers: [
            { [gate] _ in
                try await gate.wait()
                return Self.page
            }
        ]) { _ in throw TransportError(.connectionRefused, at: .connecting) }
        let connection = connection(sharing, over: stub, waiting: .seconds(10))
        let requests = [try page(within: nil), try page(within: .seconds(8))]
        let callers = await Callers.start(2) { number in try await connection.send(requests[number]).status }
        try await gate.waitForWaiting(1)
        callers[0].cancel()

        let error = await #expect(throws: TransportError.self) { _ = try await callers[1].value }
        #expect(error?.code == .connectionRefused)
        #expect(stub.requests.count == 2)
        await #expect(throws: CancellationError.self) { _ = try await callers[0].value }
        try await spawner.finished()
    }

    @Test(arguments: Sharing.allCases)
    func `When the first leaves at its deadline, the deadline of the next counts`(sharing: Sharing) async throws {
        let stub = StubConnection { [gate] _ in
            try await gate.wait()
            throw TransportError(.connectionRefused, at: .connecting)
        }
        let connection = connection(sharing, over: stub, waiting: .seconds(10))
        let requests = [try page(within: .seconds(5)), try page(within: .seconds(8))]
        let callers = await Callers.start(2) { number in try await connection.send(requests[number]).status }
        try await gate.waitForWaiting(1)
        clock.advance(by: .seconds(5))
        let late = await #expect(throws: TransportError.self) { _ = try await callers[0].value }
        #expect(late?.code == .deadlineExceeded)
        #expect(late?.attempts == 1)

        gate.open()
        let error = await #expect(throws: TransportError.self) { _ = try await callers[1].value }
        #expect(error?.code == .connectionRefused)
        #expect(stub.requests.count == 1)
        try await spawner.finished()
    }

    @Test(arguments: Sharing.allCases)
    func `A caller who joined and whose deadline passes learns of all attempts`(sharing: Sharing) async throws {
        let stub = StubConnection(answers: [{ _ in throw TransportError(.connectionRefused, at: .connecting) }]) {
            [gate] _ in
            try await gate.wait()
            return Self.page
        }
        let connection = connection(sharing, over: stub, waiting: .seconds(5))
        let requests = [try page(within: nil), try page(within: .seconds(7))]
        let callers = await Callers.start(2) { number in try await connection.send(requests[number]).status }
        // One waits for the retry, and the other for its deadline.
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(5))
        try await gate.waitForWaiting(1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(2))

        let late = await #expect(throws: TransportError.self) { _ = try await callers[1].value }
        #expect(late?.code == .deadlineExceeded)
        #expect(late?.attempts == 2)
        gate.open()
        #expect(try await callers[0].value == .ok)
        #expect(stub.requests.count == 2)
    }
}
