import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Many requests over few connections.
@Suite(.timeLimit(.minutes(3))) struct URLSessionPoolTests {
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
    }

    @Test func `A request that waits for a connection can be cancelled, and times out`() async throws {
        let clock = VirtualClock()
        origin.route(.get, "/hang", .hanging)
        let connection = URLSessionConnection(connectionsPerHost: 1, clock: clock)
        let request = try Request.get(origin.url + "/hang")
        let first = Task { try await connection.send(request) }
        try await origin.waitForRequests(1)
        let second = Task { try await connection.send(request) }
        let third = Task { try await connection.send(request) }

        second.cancel()
        await #expect(throws: CancellationError.self) { _ = try await second.value }
        try await yield { !clock.pendingSleeps.isEmpty }
        // The third may be added to the timer only now; it is overdue sixty seconds later as well.
        let advancing = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(30))
                await Task.yield()
            }
        }
        for task in [first, third] {
            let error = await #expect(throws: TransportError.self) { _ = try await task.value }
            #expect(error?.code == .timedOut)
        }
        advancing.cancel()
    }
}
