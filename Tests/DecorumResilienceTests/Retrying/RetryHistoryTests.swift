import Decorum
import DecorumTesting
import Foundation
import Testing

/// What a call tells about its retries, and when it gives up at once.
@Suite(.timeLimit(.minutes(3))) struct RetryHistoryTests {
    private let clock = VirtualClock()

    @Test func `The history of a call gives the reason of each retry and of the end`() async throws {
        let stub = StubConnection(answers: [
            { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "2"]) },
            { _ in throw TransportError(.connectionLost, at: .head) },
            { _ in Response(status: .badGateway) },
        ])
        let policy = RetryPolicy(retries: 2, baseDelay: .zero, budget: .unlimited)
        let (history, outcome) = try await run(.page, over: stub, policy, clock: ImpatientClock())

        #expect(try outcome.get().status == .badGateway)
        #expect(history.map(\.kind) == [.waits, .waits, .givesUp])
        #expect(history[0].words.hasPrefix("retry 1 in 2.") || history[0].words.hasPrefix("retry 1 in 3.0"))
        #expect(history[0].words.hasSuffix(": 503 with Retry-After 2"))
        #expect(history[1].words == "retry 2 at once: connectionLost")
        #expect(history[2].words == "no retry after 502: the policy allows 2 retries")
        #expect(history.allSatisfy { $0.layer == "retrying" })
    }

    @Test(
        arguments: [
            ("POST", "no retry after 503: a POST without Idempotency-Key may not be sent twice"),
            (
                "GET",
                "no retry after 503 with Retry-After 61: a wait of 61.00 s is longer than `maximumRetryAfter` of the policy, 60.00 s"
            ),
        ])
    func `A refusal stands in the history`(method: String, words: String) async throws {
        let fields: HTTPFields = method == "GET" ? [.retryAfter: "61"] : [:]
        let stub = StubConnection(Response(status: .serviceUnavailable, fields: fields))
        let request = try Request(try #require(.init(method)), "https://a.example/")

        let (history, outcome) = try await run(request, over: stub, .standard, clock: clock)

        #expect(try outcome.get().status == .serviceUnavailable)
        #expect(history.map(\.words) == [words])
    }

    @Test(arguments: [
        ("POST", 503, nil, " There was no retry: a POST without Idempotency-Key may not be sent twice."),
        (
            "GET", 503, "61",
            " The server asks to wait for 61.00 s, which is in `retryAfter`. "
                + "There was no retry: a wait of 61.00 s is longer than `maximumRetryAfter` of the policy, 60.00 s."
        ),
        ("GET", 404, nil, ""),
    ]) func `The error of a status says why there was no retry`(
        method: String, code: Int, retryAfter: String?, note: String
    ) async throws {
        let stub = StubConnection(
            Response(status: .init(code: code), fields: retryAfter.map { [.retryAfter: $0] } ?? [:]))
        let connection = stub.retrying(clock: clock).validatingStatus()
        let request = try Request(try #require(.init(method)), "https://a.example/")
        let error = await #expect(throws: StatusError.self) { try await connection.send(request) }
        #expect(error?.description == "\(method) https://a.example/ was answered with the status \(code)." + note)
    }

    @Test(arguments: [
        (
            "POST", TransportError.Code.connectionLost,
            " There was no retry: a POST without Idempotency-Key may not be sent twice."
        ),
        ("GET", .tls, ""), ("GET", .connectionLost, " The request was tried 2 times within 3.00 s."),
    ]) func `The error of a transport says how often and how long it was tried, and why there was no retry`(
        method: String, code: TransportError.Code, note: String
    ) async throws {
        let stub = StubConnection { [clock] _ in
            clock.advance(by: .seconds(1))
            throw TransportError.locate(TransportError(code, at: .head), at: nil, after: .seconds(1))
        }
        let policy = RetryPolicy(
            retries: 1, baseDelay: .seconds(1), certainPart: 1, budget: .unlimited)
        let connection = stub.retrying(policy, clock: clock)
        let request = try Request(try #require(.init(method)), "https://a.example/")
        let call = Task { try await connection.send(request) }
        if method == "GET", code == .connectionLost {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
        let error = try await #require(throws: TransportError.self) { try await call.value }
        let known = TransportError.locate(TransportError(code, at: .head), at: nil, after: .seconds(1))
        let alone =
            method == "GET" && code == .connectionLost
            ? "The connection to the server was lost after 1.00 s, before the head of the response." : "\(known)"
        #expect(error.description == alone + note)
        #expect((error.totalElapsed == .seconds(3)) == (code == .connectionLost && method == "GET"))
    }

    @Test func `A clock that skips the waits tells no time that has passed`() async throws {
        let policy = RetryPolicy(retries: 2, baseDelay: .seconds(1), budget: .unlimited)
        let lost = StubConnection { _ in throw TransportError(.connectionLost, at: .head) }
        let failure = await #expect(throws: TransportError.self) {
            try await lost.retrying(policy, clock: ImpatientClock()).send(.get("https://a.example/"))
        }
        #expect(failure?.totalElapsed == nil)
        #expect(failure?.description.hasSuffix(" The request was tried 3 times.") == true)
        let refused = StubConnection { _ in Response(status: .serviceUnavailable) }
        let status = await #expect(throws: StatusError.self) {
            try await refused.retrying(policy, clock: ImpatientClock()).validatingStatus().send(
                .get("https://a.example/"))
        }
        #expect(status?.description.hasSuffix(" The request was tried 3 times.") == true)
    }

    @Test func `The failure of a request whose body can be read once says so`() async throws {
        let stub = StubConnection { _ in throw TransportError(.connectionLost, at: .head) }
        let body = Body(length: 1, replay: .once) { _ in try await Body("a").open() }
        let error = await #expect(throws: TransportError.self) {
            try await stub.retrying(clock: clock).send(Request(.put, "https://a.example/", body: body))
        }
        #expect(error?.retryRefusal == "its body can be read only once")
        #expect(error?.description.hasSuffix(" There was no retry: its body can be read only once.") == true)
    }

    @Test func `After some tries, the error says why there was no further one`() async throws {
        let stub = StubConnection { _ in Response(status: .serviceUnavailable) }
        let policy = RetryPolicy(baseDelay: .zero, budget: .perCall(1))
        let error = await #expect(throws: StatusError.self) {
            try await stub.retrying(policy, clock: clock).validatingStatus().send(.page)
        }
        #expect(
            error?.description.hasSuffix(
                " The request was tried 2 times within 0.0 ms. There was no further retry: the budget of the call is 1 "
                    + "retries.") == true)
    }

    @Test func `The error of a request whose body can be read once says so`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable))
        let body = Body(length: 1, replay: .once) { _ in try await Body("a").open() }
        let error = await #expect(throws: StatusError.self) {
            try await stub.retrying(clock: clock).validatingStatus().send(
                Request(.put, "https://a.example/", body: body))
        }
        #expect(error?.description.hasSuffix("There was no retry: its body can be read only once.") == true)
    }

    @Test func `A retry that would start after the deadline gives up at once with the response`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable, fields: [.retryAfter: "5"]))
        var request = try Request.page
        request.options.deadline = clock.now + .seconds(4)

        let (history, outcome) = try await run(request, over: stub, .standard, clock: clock)

        #expect(try outcome.get().status == .serviceUnavailable)
        #expect(clock.pendingSleeps.isEmpty)
        #expect(
            history.map(\.words) == ["no retry after 503 with Retry-After 5: the wait would end after the deadline"])
    }

    @Test func `A retry that would start after the deadline gives up at once with the error`() async throws {
        let stub = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        var request = try Request.page
        request.options.deadline = clock.now

        let (history, outcome) = try await run(request, over: stub, .standard, clock: clock)

        #expect(throws: TransportError.self) { try outcome.get() }
        #expect(history.map(\.words) == ["no retry after connectionRefused: the wait would end after the deadline"])
    }

    @Test func `A retry before the deadline is sent`() async throws {
        let stub = StubConnection(
            Response(status: .serviceUnavailable, fields: [.retryAfter: "5"]), Response(status: .ok))
        var request = try Request.page
        request.options.deadline = clock.now + .seconds(8)

        async let outcome = run(request, over: stub, .standard, clock: clock)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(8))

        #expect(try await outcome.1.get().status == .ok)
    }

    @Test func `A body that is read once is named`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable))
        let body = Body(replay: .once) { _ in try await Body("content").open() }

        let (history, _) = try await run(.put("https://a.example/", body: body), over: stub, .standard, clock: clock)

        #expect(history.map(\.words) == ["no retry after 503: its body can be read only once"])
    }

    @Test func `A request that was not processed is sent again once at once without the budget`() async throws {
        let stub = StubConnection { _ in
            var error = TransportError(.connectionLost, at: .head)
            error.isUnprocessed = true
            throw error
        }
        let post = try Request.post("https://a.example/", body: "content")

        let (history, outcome) = try await run(
            post, over: stub, RetryPolicy(budget: .perCall(0)), clock: clock)

        let error = #expect(throws: TransportError.self) { try outcome.get() }
        #expect(error?.attempts == 2)
        #expect(error?.description.contains("The server has not processed the request") == true)
        #expect(stub.requests == [post, post])
        #expect(
            history.map(\.words) == [
                "retry 1 at once: connectionLost", "no retry after connectionLost: the budget of the call is 0 retries",
            ])
    }

    @Test func `After the deadline the failure itself is returned, also where sending again costs nothing`()
        async throws
    {
        let stub = StubConnection { _ in
            var error = TransportError(.connectionLost, at: .head)
            error.isUnprocessed = true
            throw error
        }
        var request = try Request.page
        request.options.deadline = clock.now

        let (history, outcome) = try await run(request, over: stub, .standard, clock: clock)

        #expect(throws: TransportError.self) { try outcome.get() }
        #expect(stub.requests.count == 1)
        #expect(history.map(\.words) == ["no retry after connectionLost: the wait would end after the deadline"])
    }

    @Test func `An option that does not travel to attempts stays with the first`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        var request = try Request.page
        request.options[FirstAttemptKey.self] = true

        _ = try await stub.retrying(clock: ImpatientClock()).send(request)

        #expect(stub.requests.map { $0.options[FirstAttemptKey.self] } == [true, false])
    }

    private func run(
        _ request: Request, over stub: StubConnection, _ policy: RetryPolicy, clock: any DatedClock
    ) async throws -> ([CallDecision], Result<Response, any Error>) {
        let call = CallContext(keepingHistory: 10)
        var request = request
        request.options.callContext = call
        let outcome: Result<Response, any Error>
        do {
            outcome = .success(try await stub.retrying(policy, clock: clock).send(request))
        } catch {
            outcome = .failure(error)
        }
        return (call.history.filter { $0.layer == "retrying" }, outcome)
    }
}

private enum FirstAttemptKey: RequestOptionKey {
    static let defaultValue = false
    static let travels: OptionTravel = .redirections
}
