import DecorumTesting
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

        #expect((decide(status, to: request) == Self.backoff) == retries)
    }

    @Test(arguments: [("POST", "8e03978e", true), ("PATCH", "8e03978e", true), ("POST", "", false)])
    func `An idempotency key makes any method idempotent`(method: String, key: String, retries: Bool) throws {
        var request = try head(method)
        request.headerFields[try #require(.init("idempotency-key"))] = key

        #expect((decide(503, to: request) == Self.backoff) == retries)
    }

    @Test(
        arguments: [
            ("0", asked(0, 1)), ("1", asked(1, 2)), ("2", asked(2, 3)), ("10", asked(10, 15)), ("40", asked(40, 60)),
            ("60", asked(60, 80)), ("61", .giveUp(.longWait(.seconds(61), limit: .seconds(60)))),
            ("99999999999999999999999", .giveUp(.longWait(.seconds(1 << 31), limit: .seconds(60)))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", asked(30, 45)), ("Sunday, 06-Nov-94 08:49:37 GMT", asked(30, 45)),
            ("Sun Nov  6 08:49:37 1994", asked(30, 45)),
            ("Sun, 06 Nov 1994 08:50:08 GMT", .giveUp(.longWait(.seconds(61), limit: .seconds(60)))),
            ("Fri, 31 Dec 9999 23:59:59 GMT", .giveUp(.longWait(.seconds(1 << 31), limit: .seconds(60)))),
            ("Sun, 06 Nov 1994 08:49:00 GMT", backoff), ("-1", backoff), ("1.5", backoff), ("soon", backoff),
            ("", backoff), ("1, 2", backoff), ("\u{0}", backoff),
        ] as [(String, RetryDecision)])
    func `Retry-After is waited for, with a spread, up to the maximum, and ignored if it gives no delay`(
        value: String, decision: RetryDecision
    ) throws {
        #expect(decide(503, to: try head("GET"), retryAfter: [value]) == decision)
    }

    // The clock of this client is at 08:49:07.
    @Test(
        arguments: [
            ("07:49:07", nil, "07:49:37", asked(30, 45)), ("09:49:07", nil, "09:49:37", asked(30, 45)),
            ("07:49:07", "3600", "08:49:37", asked(30, 45)), ("09:49:07", nil, "08:49:37", backoff),
            ("25:00:00", nil, "08:49:37", asked(30, 45)),
        ] as [(String, String?, String, RetryDecision)])
    func `A date counts from the date of the answer, whatever the clock of the client says`(
        sent: String, age: String?, value: String, decision: RetryDecision
    ) throws {
        var response = HTTPResponse(status: .serviceUnavailable)
        response.headerFields = [.date: "Sun, 06 Nov 1994 \(sent) GMT", .retryAfter: "Sun, 06 Nov 1994 \(value) GMT"]
        response.headerFields[.age] = age
        #expect(decide(.success(response), to: try head("GET"), RetryHistory(), .standard) == decision)
    }

    @Test func `Of two Retry-After fields the longer wait counts`() throws {
        #expect(decide(503, to: try head("GET"), retryAfter: ["2", "5"]) == Self.asked(5, 7.5))
        #expect(decide(503, to: try head("GET"), retryAfter: ["soon", "5"]) == Self.asked(5, 7.5))
        #expect(
            decide(503, to: try head("GET"), retryAfter: ["2", "500"])
                == .giveUp(.longWait(.seconds(500), limit: .seconds(60))))
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
        let decision = decide(TransportError(code, at: stage), to: try head(method))

        #expect((decision == Self.backoff) == retries)
    }

    @Test(
        arguments: [
            CancellationError(), BodyReadTwiceError(), BodyLengthError(), BodyOffsetError(offset: 1),
            InvalidRequestError(.invalidURL, "No."),
            RedirectionLoopError(method: .get, routeName: nil, redirections: []),
            CocoaError(.fileNoSuchFile),
        ] as [any Error])
    func `An error that is not a transport failure is not retried`(error: any Error) throws {
        #expect(decide(error, to: try head("GET")) == .giveUp(.notTemporary))
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

        let waits = milliseconds.map { RetryDecision.send(after: .zero ... .milliseconds($0)) }
        #expect(decisions == waits + [.giveUp(.retriesUsed(max(0, policy.retries)))])
    }

    @Test(arguments: [(0.5, 250...500), (1, 500...500), (7, 500...500), (-1, 0...500), (.nan, 0...500)])
    func `The certain part of a wait is not random`(part: Double, milliseconds: ClosedRange<Int>) throws {
        let decision = decide(503, to: try head("GET"), policy: RetryPolicy(certainPart: part))

        #expect(
            decision
                == .send(after: .milliseconds(milliseconds.lowerBound) ... .milliseconds(milliseconds.upperBound)))
    }

    @Test func `A request that was not processed is sent again once, with any method`() throws {
        var error = TransportError(.connectionLost, at: .head)
        error.isUnprocessed = true
        let post = try head("POST")

        #expect(decide(error, to: post) == Self.atOnce)
        #expect(decide(error, to: post, hasSentAtOnce: true) == Self.backoff)
        let once = RetryPolicy(retries: 1)
        #expect(decide(error, to: post, hasSentAtOnce: true, policy: once) == .giveUp(.retriesUsed(1)))
        #expect(decide(error, to: post, policy: .never) == .giveUp(.retriesUsed(0)))
    }

    @Test func `A request whose used connection was lost is sent again once at once, where it may be sent twice`()
        throws
    {
        var error = TransportError(.connectionLost, at: .head)
        error.hasLostReusedConnection = true
        var keyed = try head("POST")
        keyed.headerFields[try #require(HTTPField.Name("Idempotency-Key"))] = "7"

        for request in [try head("GET"), try head("DELETE"), keyed] {
            #expect(decide(error, to: request) == Self.atOnce)
            #expect(decide(error, to: request, hasSentAtOnce: true) == Self.backoff)
            #expect(decide(error, to: request, policy: .never) == .giveUp(.retriesUsed(0)))
        }
        #expect(decide(error, to: try head("POST")) == .giveUp(.method(.post)))
    }

    private static let atOnce = RetryDecision.send(after: .zero ... .zero, fromBudget: false)
    private static let backoff = RetryDecision.send(after: .zero ... .milliseconds(500))

    private static func asked(_ least: Double, _ most: Double) -> RetryDecision {
        .send(after: .seconds(least) ... .seconds(most))
    }

    private func head(_ method: String) throws -> HTTPRequest {
        HTTPRequest(method: try #require(.init(method)), scheme: "https", authority: "a.example", path: "/")
    }

    private func decide(
        _ status: Int, to request: HTTPRequest, retryAfter: [String] = [], retries: Int = 0,
        policy: RetryPolicy = .standard
    ) -> RetryDecision {
        var response = HTTPResponse(status: .init(code: status))
        response.headerFields[values: .retryAfter] = retryAfter
        var history = RetryHistory()
        history.retries = retries
        return decide(.success(response), to: request, history, policy)
    }

    private func decide(
        _ error: any Error, to request: HTTPRequest, hasSentAtOnce: Bool = false, policy: RetryPolicy = .standard
    ) -> RetryDecision {
        var history = RetryHistory()
        (history.retries, history.hasSentAtOnce) = (hasSentAtOnce ? 1 : 0, hasSentAtOnce)
        return decide(.failure(error), to: request, history, policy)
    }

    private func decide(
        _ result: Result<HTTPResponse, any Error>, to request: HTTPRequest, _ history: RetryHistory,
        _ policy: RetryPolicy
    ) -> RetryDecision {
        let attempt = RetryAttempt(
            request: request, options: RequestOptions(), result: result, retries: history.retries)
        // 30 seconds before the date of the RFC's examples.
        let date = Date(timeIntervalSince1970: 784_111_747)
        return policy.decision(about: attempt, after: history, at: date, now: .now)
    }
}

/// The waits of clients that a server has given one date.
@Suite struct AskedWaitTests {
    @Test(arguments: [(0, 1), (1, 2), (2, 3), (10, 15), (40, 60), (60, 80), (3600, 3620)])
    func `No client comes earlier than asked, or later than half of it or 20 seconds`(asked: Int, latest: Int) {
        #expect(AskedWait.spread(.seconds(asked)) == .seconds(asked) ... .seconds(latest))
    }

    // Clients do not know of each other, so a second may get more than its part by chance. Within 20 seconds, at least
    // one gets 5 % or more, however the clients choose.
    @Test(arguments: [(40, 0.05), (60, 0.05), (3600, 0.05), (20, 0.1), (2, 1)])
    func `Of clients with one date each second gets its part and no more, but for chance`(
        asked: Int, part: Double
    ) {
        let generator = SeededGenerator(seed: 7)
        let (dates, clients) = (200, 1000)
        var all: [Int64: Int] = [:]
        var largest = 0
        for _ in 0..<dates {
            var counts: [Int64: Int] = [:]
            for _ in 0..<clients {
                let wait = AskedWait.spread(.seconds(asked)).random(using: generator)
                counts[wait.components.seconds, default: 0] += 1
            }
            all.merge(counts, uniquingKeysWith: +)
            largest = max(largest, counts.values.max() ?? 0)
        }
        #expect(all.count == Int((1 / part).rounded()))
        #expect(all.values.allSatisfy { Double($0) <= part * 1.03 * Double(dates * clients) })
        #expect(Double(largest) <= (part + 5 * (part * (1 - part) / Double(clients)).squareRoot()) * Double(clients))
    }
}
