import DecorumTesting
import HTTPTypes
import Testing

@testable import Decorum

@Suite(.timeLimit(.minutes(3))) struct LimitingTimeTests {
    private let clock = VirtualClock()
    private let policy = TimePolicy(call: .seconds(30), body: .seconds(90), idle: .seconds(15))
    private let attempts = AttemptTimePolicy(.seconds(10), idle: .seconds(15))

    private func options(_ change: (inout RequestOptions) -> Void = { _ in }) async throws -> RequestOptions {
        let stub = StubConnection(Response(status: .ok))
        var request = try Request.get("https://api.example.com/")
        change(&request.options)
        _ = try await stub.limitingTime(policy, clock: clock).send(request)
        return try #require(stub.requests.first?.options)
    }

    private func attemptOptions(_ change: (inout RequestOptions) -> Void = { _ in }) async throws -> RequestOptions {
        let stub = StubConnection(Response(status: .ok))
        var request = try Request.get("https://api.example.com/")
        change(&request.options)
        _ = try await stub.limitingTime(attempts, as: .attempt, clock: clock).send(request)
        return try #require(stub.requests.first?.options)
    }

    @Test func `A call gets a deadline for its head, one for its body, and an idle timeout`() async throws {
        clock.advance(by: .seconds(5))
        let options = try await options()
        #expect(options.deadline == clock.now + .seconds(30))
        #expect(options.bodyDeadline == clock.now + .seconds(90))
        #expect(options.idleTimeout == .seconds(15))
    }

    @Test func `An attempt gets a deadline for its head, and none for its body`() async throws {
        let options = try await attemptOptions()
        #expect(options.deadline == clock.now + .seconds(10))
        #expect(options.bodyDeadline == nil)
        #expect(options.idleTimeout == .seconds(15))
    }

    @Test func `Deadlines on a clock that skips waits are moved to the time of the machine`() async throws {
        let clock = ImpatientClock()
        try await clock.sleep(for: .seconds(5))
        let stub = StubConnection(Response(status: .ok))
        _ = try await stub.limitingTime(policy, clock: clock).send(.get("https://api.example.com/"))
        var options = try #require(stub.requests.first?.options)
        #expect(options.deadline == clock.now + .seconds(30))
        let start = ContinuousClock.now
        options.moveDeadlinesToMachineTime()
        options.moveDeadlinesToMachineTime()
        let end = ContinuousClock.now
        let (head, body) = (try #require(options.deadline), try #require(options.bodyDeadline))
        #expect(start + .seconds(30) <= head && head <= end + .seconds(30))
        #expect(head.duration(to: body) == .seconds(60))
        var own = try await self.options()
        let deadline = own.deadline
        own.moveDeadlinesToMachineTime()
        #expect(own.deadline == deadline)
    }

    @Test func `Of the deadlines of a request and of the layer, the earlier one counts`() async throws {
        let now = clock.now
        #expect(try await options { $0.deadline = now + .seconds(3) }.deadline == now + .seconds(3))
        #expect(try await options { $0.deadline = now + .seconds(300) }.deadline == now + .seconds(30))
        #expect(try await options { $0.bodyDeadline = now + .seconds(4) }.bodyDeadline == now + .seconds(4))
        #expect(try await options { $0.bodyDeadline = now + .seconds(400) }.bodyDeadline == now + .seconds(90))
    }

    @Test func `A request of another kind brings its own times`() async throws {
        let now = clock.now
        let call = try await options { $0.timePolicy = .modelAnswer }
        #expect(call.deadline == now + .seconds(900))
        #expect(call.bodyDeadline == nil)
        #expect(call.idleTimeout == .seconds(600))
        #expect(try await attemptOptions { $0.timePolicy = .modelAnswer }.deadline == now + .seconds(600))
        #expect(try await attemptOptions { $0.timePolicy = .transfer }.deadline == nil)
    }

    @Test func `A request brings the times of its attempts with it`() async throws {
        let now = clock.now
        let own = try await attemptOptions { $0.attemptTimePolicy = AttemptTimePolicy(.seconds(3), idle: .seconds(2)) }
        #expect(own.deadline == now + .seconds(3) && own.idleTimeout == .seconds(2))
        let ofCall = try await attemptOptions { $0.timePolicy = TimePolicy(call: .seconds(200)) }
        #expect(ofCall.deadline == nil && ofCall.idleTimeout == nil)
        let both = try await attemptOptions {
            $0.timePolicy = .modelAnswer
            $0.attemptTimePolicy = .interactive
        }
        #expect(both.deadline == now + .seconds(10))
        let idle = try await options { $0.attemptTimePolicy = AttemptTimePolicy(.seconds(3), idle: .seconds(25)) }
        #expect(idle.idleTimeout == .seconds(25))
        #expect(try await options { $0.attemptTimePolicy = .modelAnswer }.deadline == now + .seconds(30))
    }

    @Test(
        arguments: [
            (TransportError(.deadlineExceeded, at: .head), nil, .call),
            (TransportError(.deadlineExceeded, at: .head), .attempt, .attempt),
            (TransportError(.deadlineExceeded, at: .body), nil, nil),
            (TransportError(.timedOut, at: .head), nil, nil),
        ] as [(TransportError, TransportError.DeadlineScope?, TransportError.DeadlineScope?)])
    func `The error at a deadline names the innermost layer that has set it`(
        error: TransportError, known: TransportError.DeadlineScope?, named: TransportError.DeadlineScope?
    ) async throws {
        var failure = error
        failure.deadlineScope = known
        let connection = StubConnection { [failure] _ in throw failure }.limitingTime(policy, clock: clock)
        // The deadline of the layer is the earlier one, and then that of the request.
        for (time, scope) in [(Duration.seconds(99), named), (.zero, known)] {
            var request = try Request.get("https://api.example.com/")
            request.options.deadline = clock.now + time
            let sent = request
            let thrown = try await #require(throws: TransportError.self) { _ = try await connection.send(sent) }
            #expect(thrown.deadlineScope == scope)
        }
    }

    @Test func `A time of 68 years or more is no limit`() async throws {
        for time in [Duration.seconds(1 << 31), .seconds(Int64.max), Duration(attoseconds: .max)] {
            let policy = TimePolicy(call: time, body: time)
            let options = try await options { $0.timePolicy = policy }
            #expect(options.deadline == nil && options.bodyDeadline == nil)
            let layer = try #require(StubConnection().limitingTime(policy).layers.first)
            #expect(layer.description == "limitingTime(as: call)" && layer.time.limit == .unbounded)
            let attempt = try await attemptOptions { $0.attemptTimePolicy = AttemptTimePolicy(time) }
            #expect(attempt.deadline == nil)
        }
        let past = try await options { $0.timePolicy = TimePolicy(call: Duration(attoseconds: .min)) }
        #expect(try #require(past.deadline) < clock.now)
    }

    @Test func `The time that is left is never negative`() {
        var options = RequestOptions()
        #expect(options.timeLeft(at: clock.now) == nil)
        options.deadline = clock.now + .seconds(2)
        #expect(options.timeLeft(at: clock.now) == .seconds(2))
        clock.advance(by: .seconds(3))
        #expect(options.timeLeft(at: clock.now) == .zero)
    }
}
