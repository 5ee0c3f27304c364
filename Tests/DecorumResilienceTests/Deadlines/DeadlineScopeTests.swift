import Decorum
import DecorumTesting
import Foundation
import Testing

/// The deadline of a call, of an attempt and of a body, told apart by the error.
@Suite(.timeLimit(.minutes(3))) struct DeadlineScopeTests {
    private let clock = VirtualClock()

    @Test(arguments: [(2, 9, nil, "attempt"), (9, 2, nil, "call"), (9, 9, 2, nil)] as [(Int, Int, Int?, String?)])
    func `M38: An error names the deadline that has passed before the head, unless it is of the request itself`(
        attempt: Int, call: Int, own: Int?, scope: String?
    ) async throws {
        let stub = StubConnection(clock: clock) { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(60), tolerance: nil)
            return .ok
        }
        let connection = stub.limitingTime(AttemptTimePolicy(.seconds(attempt)), as: .attempt, clock: clock)
            .limitingTime(TimePolicy(call: .seconds(call)), clock: clock)
        var request = try Request.page
        request.options.deadline = own.map { clock.now + .seconds($0) }
        let response = Task { [request] in try await connection.send(request) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        let error = try await #require(throws: TransportError.self) { try await response.value }
        #expect(error.code == .deadlineExceeded && error.deadlineScope?.description == scope)
    }

    // Of two deadlines at one instant, it is not that of the body.
    @Test(
        arguments: [(1, nil, true), (1, 2, true), (2, 2, false), (2, 1, false), (nil, 1, false)] as [(Int?, Int?, Bool)]
    )
    func `A transport names the deadline of the body`(body: Int?, head: Int?, isOfBody: Bool) throws {
        var options = RequestOptions()
        options.bodyDeadline = body.map { clock.now + .seconds($0) }
        options.deadline = head.map { clock.now + .seconds($0) }
        let limits = try TransferLimits(options, idleTimeout: .seconds(60))
        let limit = limits.next(after: clock.now, at: .head)
        #expect((limits.error(at: limit, .head).deadlineScope == .body) == isOfBody)
        #expect(throws: TransportError.self) { try limits.check(at: clock.now + .seconds(5), for: nil) }
        guard body != nil else { return }
        #expect(limits.error(at: limits.next(after: clock.now, at: .body), .body).deadlineScope == .body)
    }

    @Test func `The body of a call that shares a request names its own deadline`() async throws {
        let clock = clock
        let body = Body(length: 1, replay: .once) { _ in
            try await clock.sleep(until: clock.now + .seconds(60), tolerance: nil)
            return try await Body("a").open()
        }
        var request = try Request.page
        request.options.bodyDeadline = clock.now + .seconds(2)
        let response = try await StubConnection(Response(status: .ok, body: body)).coalescing(clock: clock)
            .send(request)
        let content = Task { try await response.body.data(upTo: 10) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        let error = try await #require(throws: TransportError.self) { try await content.value }
        #expect(error.deadlineScope == .body && error.stage == .body)
    }
}
