import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// Redirections without an end, and calls with one.
@Suite(.timeLimit(.minutes(3))) struct RedirectionDeadlineTests {
    private let clock = VirtualClock()

    /// A server that redirects to another page each time, which takes it a second.
    private func leading(_ body: Body = .empty) -> StubConnection {
        StubConnection { [clock] request in
            clock.advance(by: .seconds(1))
            let number = Int(request.head.path?.dropFirst() ?? "") ?? 0
            return Response(status: .found, fields: [.location: "/\(number + 1)"], body: body)
        }
    }

    @Test func `Redirections are followed until the deadline, and the last one is returned`() async throws {
        let stub = leading()
        var request = try Request.get("https://a.example/0")
        request.options.deadline = clock.now + .seconds(5)
        let response = try await stub.followingRedirects(upTo: 1000, clock: clock).send(request)
        #expect(response.status == .found)
        #expect(response.metadata.redirectionRefusal == .deadline)
        #expect(response.metadata.redirects.count == 4)
        #expect(stub.requests.count == 5)
    }

    @Test func `The body of a redirection is not awaited beyond the deadline`() async throws {
        let never = Gate()
        let body = Body(replay: .once) { _ in
            try await never.wait()
            return try await Body("late").open()
        }
        let stub = leading(body)
        var request = try Request.get("https://a.example/0")
        request.options.deadline = clock.now + .milliseconds(1500)
        let connection = stub.followingRedirects(upTo: 1000, clock: clock)
        let call = Task { [request] in try await connection.send(request) }
        try await clock.waitForSleepers()
        // A second is left for the body without the deadline, and half of one with it.
        clock.advance(by: .milliseconds(500))
        let response = try await call.value
        #expect(response.metadata.redirectionRefusal == .deadline)
        #expect(stub.requests.count == 2)
    }
}
