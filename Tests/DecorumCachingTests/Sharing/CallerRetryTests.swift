import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Retries of a request that is sent for several callers, each with a deadline of its own.
@Suite(.timeLimit(.minutes(3))) struct CallerRetryTests {
    enum Sharing: String, CaseIterable, Sendable { case none, coalescing, caching, both }

    /// The troubles of a server, each of which ends in another way.
    enum Trouble: String, CaseIterable, Sendable {
        case asksToWait, isUnavailable, refuses, isSlow, isVerySlow
    }

    /// The end of a call, as its caller sees it.
    private struct End: Equatable {
        var status: Int?
        var code: TransportError.Code?
        var stage: TransportError.Stage?
        var attempts: Int
        var sentRequests: Int
        var time: Duration
    }

    static let sharing: [Sharing] = [.coalescing, .caching, .both]

    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let gate = Gate()

    private func connection(
        _ sharing: Sharing, over base: some Connection, waiting delay: Duration, attempt: Duration? = nil
    ) -> any Connection {
        let policy = RetryPolicy(
            retries: 9, baseDelay: delay, factor: 1, maximumDelay: delay, certainPart: 1, budget: .unlimited)
        let retrying = base.limitingTime(AttemptTimePolicy(attempt), as: .attempt, clock: clock)
            .retrying(policy, clock: clock)
        let store = MemoryResponseStore()
        return switch sharing {
        case .none: retrying
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

    private static func page(_ status: HTTPResponse.Status, askingFor seconds: Int? = nil) -> Response {
        let asked: HTTPFields = seconds.map { [.retryAfter: String($0)] } ?? [.cacheControl: "max-age=60"]
        return Response(status: status, fields: asked, body: "page")
    }

    // MARK: One caller

    private func server(_ trouble: Trouble) -> StubConnection {
        StubConnection { [clock] request in
            switch trouble {
            case .asksToWait: return Self.page(.serviceUnavailable, askingFor: 20)
            case .isUnavailable: return Self.page(.serviceUnavailable)
            case .refuses: throw TransportError(.connectionRefused, at: .connecting)
            case .isSlow, .isVerySlow:
                // As a transport does it.
                try await clock.sleep(until: try #require(request.options.deadline), tolerance: nil)
                throw TransportError(.deadlineExceeded, at: .head)
            }
        }
    }

    /// Makes one call of five seconds, and moves the clock as soon as each task sleeps that will sleep.
    private func end(_ sharing: Sharing, _ trouble: Trouble) async throws -> End {
        let stub = server(trouble)
        let connection = connection(
            sharing, over: stub, waiting: trouble == .isUnavailable || trouble == .refuses ? .seconds(2) : .seconds(1),
            attempt: trouble == .isVerySlow ? .seconds(3) : .milliseconds(1500))
        let request = try page(within: .seconds(5))
        let start = clock.now
        // The caller who shares sleeps too, until its deadline.
        let sleepers = sharing == .none ? 1 : 2
        let moving = Task { [clock] in
            while !Task.isCancelled {
                try await clock.waitForSleepers(sleepers)
                if let first = clock.pendingSleeps.first { clock.advance(by: first) }
            }
        }
        defer { moving.cancel() }
        var end = End(attempts: 0, sentRequests: 0, time: .zero)
        do {
            let response = try await connection.send(request)
            (end.status, end.attempts) = (response.status.code, response.metadata.attempts)
        } catch let error as TransportError {
            (end.code, end.stage, end.attempts) = (error.code, error.stage, error.attempts)
        }
        (end.sentRequests, end.time) = (stub.requests.count, clock.now - start)
        return end
    }

    @Test(arguments: sharing, Trouble.allCases)
    func `A caller alone gets the same end as without a layer that shares`(
        sharing: Sharing, trouble: Trouble
    ) async throws {
        let expected: End =
            switch trouble {
            case .asksToWait: End(status: 503, attempts: 1, sentRequests: 1, time: .zero)
            case .isUnavailable: End(status: 503, attempts: 3, sentRequests: 3, time: .seconds(4))
            case .refuses:
                End(code: .connectionRefused, stage: .connecting, attempts: 3, sentRequests: 3, time: .seconds(4))
            case .isSlow: End(code: .deadlineExceeded, stage: .head, attempts: 2, sentRequests: 2, time: .seconds(4))
            case .isVerySlow:
                End(code: .deadlineExceeded, stage: .head, attempts: 2, sentRequests: 2, time: .seconds(5))
            }
        #expect(try await CallerRetryTests().end(.none, trouble) == expected)
        #expect(try await end(sharing, trouble) == expected)
    }

    // MARK: In company

    @Test(arguments: sharing, [8, nil])
    func `A layer further in learns how long the last caller waits`(sharing: Sharing, longest: Int?) async throws {
        let stub = StubConnection { [gate, clock] request in
            try await gate.wait()
            #expect(request.options.timeLeft(at: clock.now) == longest.map { .seconds($0) })
            return Self.page(.ok)
        }
        let connection = connection(sharing, over: stub, waiting: .seconds(1))
        let requests = try [5, longest, 3].map { try page(within: $0.map { .seconds($0) }) }
        let callers = await Callers.start(3) { number in try await connection.send(requests[number]).status }
        try await gate.waitForWaiting(1)
        gate.open()
        for caller in callers { #expect(try await caller.value == .ok) }
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: sharing)
    func `When the first is cancelled, the deadline of the next counts`(sharing: Sharing) async throws {
        let stub = StubConnection(answers: [
            { [gate] _ in
                try await gate.wait()
                return Self.page(.ok)
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

    @Test(arguments: sharing)
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

    @Test(arguments: sharing)
    func `A caller who joined and whose deadline passes learns of all attempts`(sharing: Sharing) async throws {
        let stub = StubConnection(answers: [{ _ in throw TransportError(.connectionRefused, at: .connecting) }]) {
            [gate] _ in
            try await gate.wait()
            return Self.page(.ok)
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
