import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct RetryingTests {
    private let clock = VirtualClock()
    /// A policy that sends again without a wait.
    private let atOnce = RetryPolicy(baseDelay: .zero, budget: .unlimited)
    private let generator = SeededGenerator(seed: 1)

    @Test func `A request is sent again after a 503 and the time in Retry-After`() async throws {
        let stub = StubConnection(.unavailable(retryAfter: "7"), .ok)
        async let response = stub.retrying(clock: clock).send(.page)

        try await clock.waitForSleepers()
        let wait = try #require(clock.pendingSleeps.first)
        #expect(wait >= .seconds(7) && wait <= .seconds(10.5))
        clock.advance(by: wait - .nanoseconds(1))
        #expect(stub.requests.count == 1)
        clock.advance(by: .nanoseconds(1))

        #expect(try await response.status == .ok)
        #expect(try await response.metadata.attempts == 2)
        let page = try Request.page
        #expect(stub.requests == [page, page])
    }

    @Test func `The last error counts the attempts, also of layers further in`() async throws {
        let stub = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        let twice = RetryPolicy(retries: 1, baseDelay: .zero, budget: .unlimited)
        let error = await #expect(throws: TransportError.self) {
            try await stub.retrying(twice, clock: clock).retrying(twice, clock: clock).send(.page)
        }
        #expect(stub.requests.count == 4)
        #expect(error?.attempts == 4)

        let single = await #expect(throws: TransportError.self) {
            try await stub.retrying(RetryPolicy(retries: 0), clock: clock).send(.page)
        }
        #expect(single?.attempts == 1)
    }

    @Test func `Without Retry-After the waits are random parts of doubling times`() async throws {
        let stub = StubConnection { _ in Response(status: .serviceUnavailable) }
        let draws = SeededGenerator(seed: 1)
        let policy = RetryPolicy(budget: .unlimited)
        async let response = stub.retrying(policy, clock: clock, generator: generator).send(.page)

        for longest in [0.5, 1, 2] {
            try await clock.waitForSleepers()
            #expect(clock.pendingSleeps == [Duration.seconds(longest) * draws.uniform()])
            clock.advance(by: .seconds(longest))
        }

        #expect(try await response.status == 503)
        #expect(try await response.metadata.attempts == 4)
        #expect(stub.requests.count == 4)
    }

    @Test func `A failure counts as an attempt of the response after it`() async throws {
        let stub = StubConnection(answers: [
            { _ in throw TransportError(.connectionLost, at: .head) },
            { _ in
                var response = Response.unavailable()
                response.metadata.attempts = 3
                return response
            },
            { _ in .ok },
        ])

        let response = try await stub.retrying(atOnce, clock: clock).send(.page)

        #expect(response.metadata.attempts == 5)
    }

    @Test func `Cancelling ends the wait, and nothing is sent after it`() async throws {
        let stub = StubConnection(.unavailable(retryAfter: "30"), .ok)
        let task = Task { [clock] in try await stub.retrying(clock: clock).send(.page) }

        try await clock.waitForSleepers()
        task.cancel()

        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(stub.requests.count == 1)
        #expect(clock.pendingSleeps.isEmpty)
    }

    @Test func `Nothing is sent after a cancellation that the clock did not notice`() async throws {
        let answered = ClosureConnection { _ in
            // Safe: the task is the one that runs this very closure.
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            return .unavailable()
        }
        let attempts = StubConnection { request in try await answered.send(request) }
        let task = Task { [clock] in try await attempts.retrying(atOnce, clock: clock).send(.page) }

        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(attempts.requests.count == 1)
    }

    @Test func `A request's own policy replaces that of the stack`() async throws {
        let stub = StubConnection(.unavailable(), .ok)
        var never = try Request.page
        never.options.retryPolicy = .never
        var created = try Request.post("https://a.example/", body: "content")
        created.options.retryPolicy = RetryPolicy(methods: [.post], baseDelay: .zero)

        #expect(try await stub.retrying(clock: clock).send(never).status == 503)
        stub.enqueue { _ in .unavailable() }
        stub.enqueue { _ in .ok }
        #expect(try await stub.retrying(.never, clock: clock).send(created).status == .ok)
    }
}

extension Response {
    static let ok = Response(status: .ok)

    static func unavailable(retryAfter: String? = nil, body: Body = .empty) -> Response {
        var response = Response(status: .serviceUnavailable, body: body)
        response.head.headerFields[.retryAfter] = retryAfter
        return response
    }
}
