import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
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
        for (decision, reason) in zip(history, ["503 with Retry-After 2", "connectionLost", "allows 2 retries"]) {
            #expect(decision.words.hasSuffix(reason))
        }
        #expect(history.allSatisfy { $0.layer == "retrying" })
    }

    /// A request that is not sent again, with a part of the reason.
    struct Refused: Sendable {
        var method = HTTPRequest.Method.get
        var body = Body.empty
        var answer: HTTPFields? = [:]
        var policy = RetryPolicy.standard
        var deadline: Duration?
        let reason: String
    }

    private static let once = Body(length: 1, replay: .once) { _ in try await Body("a").open() }

    // Without an answer, the exchange fails.
    @Test(arguments: [
        Refused(method: .post, reason: "without Idempotency-Key"),
        Refused(method: .post, answer: nil, reason: "without Idempotency-Key"),
        Refused(answer: [.retryAfter: "61"], reason: "61.00 s is longer than `maximumRetryAfter`"),
        Refused(method: .put, body: once, reason: "read only once"),
        Refused(method: .put, body: once, answer: nil, reason: "read only once"),
        Refused(answer: [.retryAfter: "5"], deadline: .seconds(4), reason: "after the deadline"),
        Refused(answer: nil, deadline: .zero, reason: "after the deadline"),
        Refused(policy: RetryPolicy(budget: .perCall(0)), reason: "the budget of the call is 0 retries"),
    ]) func `The history and the error say why there was no retry`(refused: Refused) async throws {
        let stub = StubConnection { _ in
            guard let fields = refused.answer else { throw TransportError(.connectionLost, at: .head) }
            return Response(status: .serviceUnavailable, fields: fields)
        }
        var request = try Request(refused.method, "https://a.example/", body: refused.body)
        request.options.deadline = refused.deadline.map { clock.now + $0 }

        let (history, outcome) = try await run(request, over: stub, refused.policy, clock: clock)

        #expect(history.map(\.kind) == [.givesUp])
        #expect(history.first?.words.contains(refused.reason) == true)
        #expect(stub.requests.count == 1 && clock.pendingSleeps.isEmpty)
        switch outcome {
        case .success(let response):
            #expect(refused.answer != nil)
            let connection = StubConnection(response).validatingStatus()
            let error = await #expect(throws: StatusError.self) { try await connection.send(.page) }
            #expect(error?.description.contains("There was no retry: ") == true)
        case .failure(let error):
            #expect((error as? TransportError)?.retryRefusal?.contains(refused.reason) == true)
            #expect("\(error)".contains("There was no retry: "))
        }
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
        #expect(history.map(\.kind) == [.waits, .givesUp])
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
