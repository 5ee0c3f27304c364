import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Several rules, of which the first that speaks decides, with a wait and options of its own.
@Suite(.timeLimit(.minutes(3))) struct RetryVerdictTests {
    private static let overloaded = RetryRule(deciding: "overloaded") { attempt in
        switch attempt.response?.status.code {
        case 529: .retry(after: .seconds(5))
        case 503: .giveUp
        default: .noOpinion
        }
    }
    private static let keen = RetryRule("keen") { $0.response != nil }

    private static func own(_ seconds: Int64) -> RetryRule {
        RetryRule(deciding: "own") { _ in .retry(after: .seconds(seconds)) }
    }

    /// What `retrying` decides about one call.
    private func history(
        of policy: RetryPolicy, _ stub: StubConnection, _ request: Request? = nil,
        clock: any DatedClock = ImpatientClock()
    ) async throws -> [CallDecision] {
        let call = CallContext(keepingHistory: 10)
        var request = try request ?? .page
        request.options.callContext = call
        _ = try? await stub.retrying(policy, clock: clock).send(request)
        return call.history.filter { $0.layer == "retrying" }
    }

    private static let soon = 0...0.5

    // A wait that is longer than the policy allows ends the retries, and a verdict may end them too.
    @Test(
        arguments: [
            (overloaded || .standard, 529, nil, 5...5), (overloaded || .standard, 503, nil, nil),
            (overloaded || .standard, 502, nil, soon), (overloaded || .standard, 404, nil, nil),
            (.standard || overloaded, 503, nil, soon), (.standard || overloaded, 529, nil, 5...5),
            (overloaded || own(7), 529, nil, 5...5), (own(7) || overloaded, 529, nil, 7...7),
            (overloaded || own(7), 503, nil, nil), (own(7) || overloaded, 503, nil, 7...7),
            (keen || own(7), 404, nil, soon), (.status(404) || own(7) || overloaded, 404, nil, soon),
            (.status(404) || own(7) || overloaded, 503, nil, 7...7),
            (own(3), 503, "1", 3...3), (own(3), 503, "3", 3...3), (own(3), 503, "4", 4...6), (own(-3), 503, nil, 0...0),
            (own(-3), 503, "4", 4...6), (own(61), 503, nil, nil), (own(3), 503, "61", nil), (own(.max), 503, nil, nil),
        ] as [(RetryRule, Int, String?, ClosedRange<Double>?)])
    func `M43: The first rule that speaks decides, and does not shorten the wait that a server asks for`(
        rule: RetryRule, status: Int, asked: String?, seconds: ClosedRange<Double>?
    ) async throws {
        var answer = Response(status: .init(code: status))
        answer.head.headerFields[.retryAfter] = asked
        let policy = RetryPolicy(retries: 1, when: rule)
        let decision = try await history(of: policy, StubConnection(answer, .ok)).first
        #expect((decision?.kind == .waits) == (seconds != nil))
        if let seconds { #expect(seconds.contains(try #require(decision?.delay) / .seconds(1))) }
        let isTooLong = decision?.words.contains("is longer than `maximumRetryAfter`")
        #expect(isTooLong == (seconds != nil ? false : rule.description == "own" ? true : nil))
    }

    @Test func `M39: Changed options stay for all further attempts`() async throws {
        let rule = RetryRule(deciding: "own") { attempt in
            .retry(after: .zero) { $0.routeName = ($0.routeName ?? "") + "\(attempt.retries)" }
        }
        let stub = StubConnection { _ in .unavailable() }
        _ = try await history(of: RetryPolicy(retries: 2, when: rule, budget: .unlimited), stub)
        #expect(stub.requests.map(\.options.routeName) == [nil, "0", "01"])
    }

    @Test func `A verdict makes no request safe to send twice, takes from the budget and ends at the deadline`()
        async throws
    {
        let clock = VirtualClock()
        var late = try Request.page
        late.options.deadline = clock.now + .seconds(6)
        for (request, reason) in try [
            (Request.post("https://a.example/", body: "a"), "without Idempotency-Key"),
            (.page, "the budget of the call is 0 retries"), (late, "after the deadline"),
        ] {
            let policy = RetryPolicy(when: Self.own(7), budget: .perCall(0))
            let history = try await history(of: policy, StubConnection(.ok), request, clock: clock)
            #expect(history.last?.words.contains(reason) == true)
        }
    }

    @Test func `A rule with an own wait is waited for also after a request that was not processed`() async throws {
        var error = TransportError(.connectionLost, at: .head)
        error.isUnprocessed = true
        let stub = StubConnection(answers: [{ [error] _ in throw error }, { _ in .ok }])
        let rule = RetryRule(deciding: "lost") { $0.error == nil ? .noOpinion : .retry(after: .seconds(2)) }
        let history = try await history(of: RetryPolicy(when: rule), stub)
        #expect(history.compactMap(\.delay) == [.seconds(2)])
    }

    @Test func `A rule shows its parts in order, and only one without a closure can be written`() throws {
        let rule = .status(404) || Self.overloaded || .standard || Self.keen
        #expect(
            rule.description
                == ".status(404) || overloaded || .status(429, 500, 502, 503, 504) || .temporaryError || keen")
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(rule) }
        let plain = RetryRule.status(404) || .temporaryError || .status(500)
        #expect(try JSONDecoder().decode(RetryRule.self, from: JSONEncoder().encode(plain)) == plain)
        #expect(plain == (.status(500, 404) || .temporaryError))
    }
}
