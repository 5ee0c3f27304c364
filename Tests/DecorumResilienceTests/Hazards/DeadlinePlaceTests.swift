import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Deadlines of calls and of attempts, among the layers that wait, send again and observe.
@Suite(.timeLimit(.minutes(3))) struct DeadlinePlaceTests {
    private let clock = ImpatientClock()

    private func busyServer() -> StubConnection {
        StubConnection { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "60"]) }
    }

    @Test func `Deadlines of attempts alone do not bound a call, and the deadline of the call does`() async throws {
        let policy = RetryPolicy(budget: .unlimited)
        let times = AttemptTimePolicy(.seconds(2))
        let (attempts, call) = (busyServer(), busyServer())
        let start = clock.now

        _ = try await attempts.limitingTime(times, as: .attempt, clock: clock).retrying(policy, clock: clock)
            .send(.page)
        #expect(clock.now - start >= .seconds(180))
        #expect(attempts.requests.count == 4)

        let middle = clock.now
        _ = try await call.limitingTime(times, as: .attempt, clock: clock).retrying(policy, clock: clock)
            .limitingTime(TimePolicy(call: .seconds(5)), clock: clock).send(.page)
        #expect(clock.now == middle)
        #expect(call.requests.count == 1)
    }

    @Test func `A policy that would wait for a day ends at the deadline of the call`() async throws {
        let stub = StubConnection { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "80000"]) }
        let patient = RetryPolicy(maximumRetryAfter: .seconds(86_400), budget: .unlimited)
        let start = clock.now

        let response = try await stub.retrying(patient, clock: clock).limitingTime(clock: clock).send(.page)

        #expect(response.status == .serviceUnavailable)
        #expect(clock.now == start && stub.requests.count == 1)
    }

    @Test func `An observer inside of a deadline sees a failure, and no cancellation`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", .hanging)
        let clock = VirtualClock()
        let ends = Mutex<[ExchangeEvent.Outcome]>([])
        let connection = SystemConnection(clock: clock)
            .observing(as: .attempt, clock: clock) { event in
                ends.withLock { $0.append(event.outcome) }
            }
            .limitingTime(TimePolicy(call: .seconds(5)), clock: clock)
        let request = try Request.get(origin.url + "/")
        let call = Task { try await connection.send(request) }
        try await origin.waitForRequests(1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))

        let error = await #expect(throws: TransportError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(ends.withLock { $0 } == [.failed(name: "deadlineExceeded")])
    }
}
