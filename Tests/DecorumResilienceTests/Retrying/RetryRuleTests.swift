import Decorum
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct RetryRuleTests {
    @Test func `A closure sees the request, its options and the outcome`() async throws {
        let seen = Mutex<[String]>([])
        let rule = RetryRule("locked") { attempt in
            let outcome = attempt.response.map { "\($0.status.code)" } ?? "\(attempt.error is TransportError)"
            seen.withLock {
                $0.append("\(attempt.request.method) \(attempt.options.routeName ?? "") \(outcome) \(attempt.retries)")
            }
            return attempt.response?.status != .ok
        }
        let stub = StubConnection(answers: [
            { _ in Response(status: .init(code: 423)) }, { _ in throw TransportError(.tls, at: .connecting) },
            { _ in Response(status: .ok) },
        ])
        var request = try Request.page
        request.options.routeName = "page"

        let policy = RetryPolicy(when: rule, budget: .unlimited)
        let response = try await stub.retrying(policy, clock: ImpatientClock()).send(request)

        #expect(response.status == .ok)
        #expect(seen.withLock { $0 } == ["GET page 423 0", "GET page true 1", "GET page 200 2"])
    }

    @Test(arguments: [(WarmingUp(mayPass: true), 2), (WarmingUp(mayPass: false), 1)])
    func `An error of any layer says of itself that it may pass`(error: WarmingUp, sent: Int) async throws {
        let stub = StubConnection(answers: [{ _ in throw error }, { _ in Response(status: .ok) }])
        let warming = stub.intercepting { request, base in try await base.send(request) }

        let connection = warming.retrying(clock: ImpatientClock())
        _ = try? await connection.send(.post("https://a.example/", body: "content"))

        #expect(stub.requests.count == sent)
    }

    @Test func `An error that names an instant is waited for`() async throws {
        let clock = VirtualClock()
        let error = WarmingUp(mayPass: true, earliestRetry: clock.now + .seconds(10))
        let stub = StubConnection(answers: [{ _ in throw error }, { _ in Response(status: .ok) }])
        async let response = stub.retrying(clock: clock).send(.page)

        try await clock.waitForSleepers()
        let wait = try #require(clock.pendingSleeps.first)
        #expect(wait >= .seconds(10) && wait <= .seconds(15))
        clock.advance(by: wait)

        #expect(try await response.status == .ok)
    }

    @Test(
        arguments: [
            (.standard, 503, 2), (.standard, 403, 1), (.standard || .status(403), 403, 2), (.status(403), 503, 1),
            (.status(200), 200, 2), (.temporaryError, 503, 1),
            (RetryRule("limited") { $0.response?.headerFields.contains(.retryAfter) == true } || .status(502), 404, 2),
        ] as [(RetryRule, Int, Int)])
    func `Rules combine`(rule: RetryRule, status: Int, sent: Int) async throws {
        let stub = StubConnection(
            Response(status: .init(code: status), fields: [.retryAfter: "1"]), Response(status: .noContent))

        let policy = RetryPolicy(retries: 1, when: rule)
        _ = try await stub.retrying(policy, clock: ImpatientClock()).send(.page)

        #expect(stub.requests.count == sent)
    }

    @Test func `No rule repeats a cancelled request`() async throws {
        let stub = StubConnection { _ in throw CancellationError() }
        let policy = RetryPolicy(when: RetryRule("always") { _ in true })

        await #expect(throws: CancellationError.self) {
            _ = try await stub.retrying(policy, clock: ImpatientClock()).send(.page)
        }
        #expect(stub.requests.count == 1)
    }

    struct WarmingUp: TemporaryError {
        var mayPass: Bool
        var meansNotProcessed = true
        var earliestRetry: ContinuousClock.Instant?
    }
}

extension HTTPFields {
    init(_ values: [String: String]) throws {
        self.init()
        for (name, value) in values { self[try #require(HTTPField.Name(name))] = value }
    }
}

extension Request {
    static var page: Request {
        get throws { try .get("https://a.example/") }
    }
}
