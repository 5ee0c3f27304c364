import Foundation
import Testing

@testable import Decorum

/// RFC 9110, sections 9.2.2 and 10.2.3.
@Suite struct RetryDecisionTests {
    @Test(arguments: [
        ("GET", 429, true), ("GET", 500, true), ("GET", 502, true), ("GET", 503, true), ("GET", 504, true),
        ("HEAD", 503, true), ("OPTIONS", 503, true), ("TRACE", 503, true), ("PUT", 503, true), ("DELETE", 503, true),
        ("QUERY", 503, true), ("POST", 503, false), ("POST", 429, false), ("PATCH", 503, false),
        ("CONNECT", 503, false), ("get", 503, false), ("GET", 200, false), ("GET", 301, false), ("GET", 400, false),
        ("GET", 401, false), ("GET", 404, false), ("GET", 408, false), ("GET", 501, false), ("GET", 505, false),
    ])
    func `A status is retried with an idempotent method`(
        method: String, status: Int, retries: Bool
    ) throws {
        let request = try head(method)

        #expect(decide(status, to: request) == (retries ? .waitWithin(.milliseconds(500)) : .giveUp))
    }

    @Test(arguments: [("POST", "8e03978e", true), ("PATCH", "8e03978e", true), ("POST", "", false)])
    func `An idempotency key makes any method idempotent`(method: String, key: String, retries: Bool) throws {
        var request = try head(method)
        request.headerFields[try #require(.init("idempotency-key"))] = key

        #expect((decide(503, to: request) != .giveUp) == retries)
    }

    @Test(
        arguments: [
            ("0", .wait(.zero)), ("1", .wait(.seconds(1))), ("60", .wait(.seconds(60))), ("61", .giveUp),
            ("99999999999999999999999", .giveUp), ("Sun, 06 Nov 1994 08:49:37 GMT", .wait(.seconds(30))),
            ("Sunday, 06-Nov-94 08:49:37 GMT", .wait(.seconds(30))), ("Sun Nov  6 08:49:37 1994", .wait(.seconds(30))),
            ("Sun, 06 Nov 1994 08:50:08 GMT", .giveUp), ("Fri, 31 Dec 9999 23:59:59 GMT", .giveUp),
            ("Sun, 06 Nov 1994 08:49:00 GMT", backoff), ("-1", backoff), ("1.5", backoff), ("soon", backoff),
            ("", backoff), ("1, 2", backoff), ("\u{0}", backoff),
        ] as [(String, RetryDecision)])
    func `Retry-After is honoured up to the maximum, and ignored if it gives no delay`(
        value: String, decision: RetryDecision
    ) throws {
        #expect(decide(503, to: try head("GET"), retryAfter: [value]) == decision)
    }

    @Test func `Of two Retry-After fields the longer wait counts`() throws {
        #expect(decide(503, to: try head("GET"), retryAfter: ["2", "5"]) == .wait(.seconds(5)))
        #expect(decide(503, to: try head("GET"), retryAfter: ["soon", "5"]) == .wait(.seconds(5)))
        #expect(decide(503, to: try head("GET"), retryAfter: ["2", "500"]) == .giveUp)
    }

    @Test(
        arguments: [
            ("GET", TransportError.Code.connectionRefused, .connecting, true),
            ("GET", .hostNotFound, .connecting, true),
            ("GET", .unreachable, .connecting, true), ("GET", .timedOut, .connecting, true),
            ("GET", .timedOut, .head, true), ("GET", .connectionLost, .head, true),
            ("PUT", .connectionLost, .head, true),
            ("POST", .connectionRefused, .connecting, true), ("POST", .timedOut, .connecting, true),
            ("POST", .timedOut, .head, false), ("POST", .connectionLost, .head, false),
            ("PATCH", .connectionLost, .body, false), ("GET", .tls, .connecting, false),
            ("GET", .malformedResponse, .head, false), ("GET", .truncated, .body, false),
            ("GET", .undecodableContent, .body, false), ("GET", .unreadableBody, .head, false),
            ("GET", .limitExceeded, .body, false), ("GET", .other, .connecting, false),
        ] as [(String, TransportError.Code, TransportError.Stage, Bool)])
    func `A failure is retried if that may help and is safe`(
        method: String, code: TransportError.Code, stage: TransportError.Stage, retries: Bool
    ) throws {
        let decision = RetryDecision.after(
            TransportError(code, at: stage), to: try head(method), retries: 0, policy: .standard)

        #expect(decision == (retries ? .waitWithin(.milliseconds(500)) : .giveUp))
    }

    @Test(
        arguments: [
            CancellationError(), BodyReadTwiceError(), BodyLengthError(), BodyOffsetError(offset: 1),
            InvalidRequestError(.invalidURL, "No."), RedirectionLoopError(redirections: []),
            CocoaError(.fileNoSuchFile),
        ] as [any Error])
    func `An error that is not a transport failure is not retried`(error: any Error) throws {
        #expect(RetryDecision.after(error, to: try head("GET"), retries: 0, policy: .standard) == .giveUp)
    }

    @Test(arguments: [
        (RetryPolicy(retries: 10), [500, 1000, 2000, 4000, 8000, 16000, 20000, 20000, 20000, 20000]),
        (
            RetryPolicy(retries: 3, baseDelay: .seconds(1), factor: 10, maximumDelay: .seconds(30)),
            [1000, 10000, 30000]
        ),
        (RetryPolicy(retries: 2, factor: 0.5), [500, 500]), (RetryPolicy(retries: 2, factor: -.infinity), [500, 500]),
        (RetryPolicy(retries: 2, factor: .nan), [500, 500]),
        (RetryPolicy(retries: 2, factor: .infinity), [500, 20000]),
        (RetryPolicy(retries: 1, baseDelay: .seconds(-1)), [0]), (RetryPolicy(retries: 1, maximumDelay: .zero), [0]),
        (RetryPolicy(retries: 2, baseDelay: .zero, factor: .infinity), [0, 0]),
        (RetryPolicy(retries: 1, baseDelay: .seconds(Int64.max), maximumDelay: .seconds(Int64.max)), [1 << 31 * 1000]),
        (RetryPolicy(retries: 0), []), (RetryPolicy(retries: .min), []), (.never, []),
    ])
    func `The longest wait grows up to its maximum, and retries are limited`(
        policy: RetryPolicy, milliseconds: [Int]
    ) throws {
        let request = try head("GET")
        let decisions = (0...milliseconds.count).map { retries in
            decide(503, to: request, retries: retries, policy: policy)
        }

        #expect(decisions == milliseconds.map { .waitWithin(.milliseconds($0)) } + [.giveUp])
    }

    @Test func `No number of retries overflows`() throws {
        let policy = RetryPolicy(retries: .max, factor: 1e300)

        #expect(decide(503, to: try head("GET"), retries: .max - 1, policy: policy) == .waitWithin(.seconds(20)))
    }

    private static let backoff = RetryDecision.waitWithin(.milliseconds(500))

    private func head(_ method: String) throws -> HTTPRequest {
        HTTPRequest(method: try #require(.init(method)), scheme: "https", authority: "a.example", path: "/")
    }

    private func decide(
        _ status: Int, to request: HTTPRequest, retryAfter: [String] = [], retries: Int = 0,
        policy: RetryPolicy = .standard
    ) -> RetryDecision {
        var response = HTTPResponse(status: .init(code: status))
        response.headerFields[values: .retryAfter] = retryAfter
        // 30 seconds before the date of the RFC's examples.
        let date = Date(timeIntervalSince1970: 784_111_747)
        return .after(response, to: request, at: date, retries: retries, policy: policy)
    }
}
