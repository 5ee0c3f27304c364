import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Deadlines of calls and of attempts, among the layers that wait, send again and observe.
@Suite(.timeLimit(.minutes(3))) struct DeadlinePlaceTests {
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
