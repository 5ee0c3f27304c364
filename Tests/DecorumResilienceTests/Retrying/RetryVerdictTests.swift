import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Several rules, of which the first that speaks decides, with a wait and options of its own.
@Suite(.timeLimit(.minutes(3))) struct RetryVerdictTests {
    private static let overloaded = RetryRule(deciding: "overloaded") { attempt in
        switch attempt.response?.status.code {
        case 529: .retry(after: .seconds(5)) { $0.priority = .background }
        case 503: .giveUp
        default: .noOpinion
        }
    }
    private static let patient = RetryRule(deciding: "patient") { _ in .retry(after: .seconds(7)) }
    private static let keen = RetryRule("keen") { $0.response != nil }

    @Test(
        arguments: [
            (overloaded || .standard, 529, [.seconds(5)]), (overloaded || .standard, 503, nil),
            (overloaded || .standard, 502, []), (overloaded || .standard, 404, nil),
            (.standard || overloaded, 503, []), (.standard || overloaded, 529, [.seconds(5)]),
            (overloaded || patient, 529, [.seconds(5)]), (patient || overloaded, 529, [.seconds(7)]),
            (overloaded || patient, 503, nil), (patient || overloaded, 503, [.seconds(7)]),
            (keen || patient, 404, []), (.status(404) || patient || overloaded, 404, []),
            (.status(404) || patient || overloaded, 503, [.seconds(7)]),
        ] as [(RetryRule, Int, [Duration]?)])
    func `The first rule that speaks decides`(rule: RetryRule, status: Int, waits: [Duration]?) async throws {
        let history = try await history(of: rule, status)

        #expect(history.first?.kind == (waits == nil ? nil : .waits))
        if let wait = waits?.first { #expect(history.first?.delay == wait) }
        if waits == [] { #expect(history.first?.delay ?? .seconds(1) < .milliseconds(500)) }
    }

    @Test(arguments: [
        (nil, 3, 3.0...3.0), ("1", 3, 3.0...3.0), ("3", 3, 3.0...3.0), ("4", 3, 4.0...6.0), (nil, -3, 0.0...0.0),
        ("4", -3, 4.0...6.0),
    ])
    func `A rule does not shorten the wait that a server asks for`(
        asked: String?, own: Int, seconds: ClosedRange<Double>
    ) async throws {
        let rule = RetryRule(deciding: "own") { _ in .retry(after: .seconds(own)) }
        let delay = try #require(try await history(of: rule, 503, retryAfter: asked).first?.delay)
        #expect(seconds.contains(delay / .seconds(1)))
    }

    @Test(
        arguments: [(Duration.seconds(61), nil), (.seconds(3), "61"), (.seconds(Int64.max), nil)]
            as [(Duration, String?)])
    func `A wait longer than the policy allows ends the retries`(wait: Duration, asked: String?) async throws {
        let rule = RetryRule(deciding: "own") { _ in .retry(after: wait) }
        let history = try await history(of: rule, 503, retryAfter: asked)
        #expect(history.map(\.kind) == [.givesUp])
        #expect(history.first?.words.contains("is longer than `maximumRetryAfter`") == true)
    }

    @Test func `Changed options stay for all further attempts`() async throws {
        let rule = RetryRule(deciding: "own") { attempt in
            .retry(after: .zero) { options in
                options.routeName = (options.routeName ?? "") + "\(attempt.retries)"
                if attempt.retries == 0 { options.priority = .background }
            }
        }
        let stub = StubConnection { _ in Response(status: .serviceUnavailable) }
        let policy = RetryPolicy(retries: 2, when: rule, budget: .unlimited)
        _ = try await stub.retrying(policy, clock: ImpatientClock()).send(.page)

        #expect(stub.requests.map(\.options.routeName) == [nil, "0", "01"])
        #expect(stub.requests.map(\.options.priority) == [nil, .background, .background])
    }

    @Test func `A verdict makes no request safe to send twice, takes from the budget and ends at the deadline`()
        async throws
    {
        let clock = VirtualClock()
        let policy = RetryPolicy(when: Self.patient, budget: .perCall(0))
        for (request, reason) in try [
            (Request.post("https://a.example/", body: "a"), "without Idempotency-Key"),
            (.page, "the budget of the call is 0 retries"),
            (.page, "after the deadline"),
        ] {
            let call = CallContext(keepingHistory: 10)
            var request = request
            request.options.callContext = call
            if reason == "after the deadline" { request.options.deadline = clock.now + .seconds(6) }
            let stub = StubConnection(Response(status: .ok))
            _ = try await stub.retrying(policy, clock: clock).send(request)
            #expect(call.history.last?.words.contains(reason) == true)
        }
    }

    @Test func `A rule with an own wait is waited for also after a request that was not processed`() async throws {
        let stub = StubConnection(answers: [
            { _ in
                var error = TransportError(.connectionLost, at: .head)
                error.isUnprocessed = true
                throw error
            }, { _ in Response(status: .noContent) },
        ])
        let rule = RetryRule(deciding: "lost") { $0.error == nil ? .noOpinion : .retry(after: .seconds(2)) }
        let call = CallContext(keepingHistory: 10)
        var request = try Request.page
        request.options.callContext = call
        _ = try await stub.retrying(RetryPolicy(when: rule), clock: ImpatientClock()).send(request)
        #expect(call.history.compactMap(\.delay) == [.seconds(2)])
    }

    @Test func `A rule shows its parts in order, and only one without a closure can be written`() throws {
        let rule = .status(404) || Self.overloaded || .standard || Self.keen
        #expect(
            rule.description
                == ".status(404) || overloaded || .status(429, 500, 502, 503, 504) || .temporaryError || keen")
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(rule) }
        let plain = RetryRule.status(404) || .temporaryError || .status(500)
        let read = try JSONDecoder().decode(RetryRule.self, from: JSONEncoder().encode(plain))
        #expect(read == plain)
        #expect(plain == (.status(500, 404) || .temporaryError))
    }

    private func history(of rule: RetryRule, _ status: Int, retryAfter: String? = nil) async throws -> [CallDecision] {
        var answer = Response(status: .init(code: status))
        answer.head.headerFields[.retryAfter] = retryAfter
        let call = CallContext(keepingHistory: 10)
        var request = try Request.page
        request.options.callContext = call
        let stub = StubConnection(answer, Response(status: .noContent))
        let policy = RetryPolicy(retries: 1, when: rule)
        _ = try? await stub.retrying(policy, clock: ImpatientClock()).send(request)
        return call.history.filter { $0.layer == "retrying" }
    }
}
