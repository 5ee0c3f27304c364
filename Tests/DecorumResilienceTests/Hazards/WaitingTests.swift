import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Waits for a server's pause, among retries and signatures.
@Suite(.timeLimit(.minutes(3))) struct WaitingTests {
    private let clock = VirtualClock()
    private let generator = SeededGenerator(seed: 1)

    @Test func `A retry waits for a pause that another call was asked for meanwhile`() async throws {
        let stub = StubConnection(
            answers: [
                { _ in Response(status: .badGateway) },
                { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "30"]) },
            ],
            then: { _ in Response(status: .ok) })
        let policy = RetryPolicy(budget: .unlimited)
        let connection = stub.pacing(clock: clock, generator: generator)
            .retrying(policy, clock: clock, generator: generator)
        let first = Task { try await connection.send(.page) }
        try await clock.waitForSleepers()
        let second = Task { try await connection.send(.page) }
        try await clock.waitForSleepers(2)

        clock.advance(by: .seconds(1))
        // The first call wants to be sent again, and waits for the end of the pause instead.
        try await clock.waitForSleepers(2)
        #expect(stub.requests.count == 2)
        #expect(clock.pendingSleeps.allSatisfy { $0 >= .seconds(29) })

        for _ in 0..<4 where !clock.pendingSleeps.isEmpty {
            clock.advance(by: .seconds(20))
            for _ in 0..<100 { await Task.yield() }
        }
        #expect(try await first.value.status == .ok)
        #expect(try await second.value.status == .ok)
    }

    @Test func `Stacks that are made anew for each call keep the pauses and the budget that they share`() async throws {
        let pauses = ServerPauses()
        let policy = RetryPolicy(budget: RetryBudget())
        func stack(over stub: StubConnection) -> some Connection {
            stub.pacing(PacingPolicy(longestWait: .zero), in: pauses, clock: clock).retrying(policy, clock: clock)
        }
        let stub = StubConnection { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "61"]) }

        _ = try await stack(over: stub).send(.page)
        await #expect(throws: PacingError.self) { try await stack(over: stub).send(.page) }

        #expect(stub.requests.count == 1)
        #expect(stack(over: stub).layers.map(\.memory.state) == stack(over: stub).layers.map(\.memory.state))
        #expect(stack(over: stub).layers.prefix(2).allSatisfy { $0.memory.state.count == 1 })
    }
}
