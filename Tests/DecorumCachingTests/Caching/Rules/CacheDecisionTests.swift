import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9111, section 4, RFC 5861 and RFC 8246.
@Suite struct CacheDecisionTests {
    private func decision(
        _ stored: StoredResponse..., after age: Double, wanting fields: String, method: HTTPRequest.Method = .get,
        use: CacheUse = .standard, policy: CachingPolicy = .standard
    ) -> CacheDecision {
        let request = StoredPage.request(fields, method: method)
        return CacheDecision.decide(
            request, wanting: CacheRequest(request.headerFields, use: use), from: stored,
            at: StoredPage.date.addingTimeInterval(age), policy: policy)
    }

    static let rows: [(control: String, age: Double, wanted: String, decision: String)] = [
        // Only the lifetime.
        ("max-age=100", 0, "", "serve"), ("max-age=100", 99, "", "serve"), ("max-age=100", 100, "", "validate, stale"),
        ("max-age=100", 101, "", "validate, stale"), ("max-age=0", 0, "", "validate, stale"),
        // Directives of the response.
        ("max-age=100, no-cache", 0, "", "validate, stale"),
        ("max-age=100, no-cache=\"Set-Cookie\"", 0, "", "serve"),
        ("max-age=100, no-cache=\"\"", 0, "", "validate, stale"),
        ("max-age=100, must-revalidate", 99, "", "serve"), ("max-age=100, private", 99, "", "serve"),
        ("max-age=100, must-revalidate", 100, "", "validate, stale"),
        // Directives of the request.
        ("max-age=100", 0, "no-cache", "validate, request"), ("max-age=100", 50, "max-age=50", "serve"),
        ("max-age=100", 51, "max-age=50", "validate, request"), ("max-age=100", 1, "max-age=0", "validate, request"),
        ("max-age=100", 0, "max-age=x", "serve"), ("max-age=100", 1, "max-age=x", "validate, request"),
        ("max-age=100", 40, "min-fresh=60", "serve"), ("max-age=100", 41, "min-fresh=60", "validate, request"),
        ("max-age=100", 100, "min-fresh=0", "validate, stale"), ("max-age=100", 110, "max-stale=10", "serve"),
        ("max-age=100", 111, "max-stale=10", "validate, stale"), ("max-age=100", 1e9, "max-stale", "serve"),
        ("max-age=100", 101, "max-stale=x", "validate, stale"), ("max-age=100", 100, "max-stale=0", "serve"),
        // Two directives of the request.
        ("max-age=100", 105, "max-stale=10, max-age=100", "validate, stale"),
        ("max-age=100", 105, "max-stale=10, max-age=105", "serve"),
        ("max-age=100", 50, "max-stale=10, min-fresh=60", "serve"),
        ("max-age=100", 51, "max-stale=10, min-fresh=60", "validate, request"),
        ("max-age=100", 105, "max-stale, no-cache", "validate, stale"),
        // A stale response is forbidden, regardless of the request.
        ("max-age=100, must-revalidate", 100, "max-stale", "validate, stale"),
        ("max-age=100, no-cache", 0, "max-stale", "validate, stale"),
        ("max-age=100, must-revalidate, stale-while-revalidate=50", 101, "", "validate, stale"),
        // The network is forbidden.
        ("max-age=100", 0, "only-if-cached", "serve"), ("max-age=100", 100, "only-if-cached", "refuse, stale"),
        ("max-age=100", 100, "only-if-cached, max-stale", "serve"),
        ("max-age=100", 0, "only-if-cached, no-cache", "refuse, request"),
        ("max-age=100, must-revalidate", 100, "only-if-cached, max-stale", "refuse, stale"),
        // Immutable.
        ("max-age=100, immutable", 99, "max-age=0", "serve"),
        ("max-age=100, immutable", 100, "max-age=0", "validate, stale"),
        ("max-age=100, immutable", 99, "no-cache", "validate, request"),
        ("immutable", 0, "", "validate, stale"),
        // Stale while it is validated.
        ("max-age=100, stale-while-revalidate=50", 99, "", "serve"),
        ("max-age=100, stale-while-revalidate=50", 100, "", "serve, validate behind"),
        ("max-age=100, stale-while-revalidate=50", 149, "", "serve, validate behind"),
        ("max-age=100, stale-while-revalidate=50", 150, "", "validate, stale"),
        ("max-age=100, stale-while-revalidate=50", 110, "max-stale=20", "serve"),
        ("max-age=100, stale-while-revalidate=50", 110, "max-stale=5", "validate, stale"),
        ("max-age=100, stale-while-revalidate=50", 110, "min-fresh=1", "validate, stale"),
        ("max-age=100, stale-while-revalidate=50", 110, "max-age=105", "validate, stale"),
        ("max-age=100, stale-while-revalidate=50", 110, "no-cache", "validate, stale"),
        ("max-age=100, stale-while-revalidate=50", 110, "only-if-cached", "refuse, stale"),
        ("max-age=100, stale-while-revalidate", 100, "", "validate, stale"),
        ("stale-while-revalidate=50", 10, "", "serve, validate behind"),
    ]

    @Test(arguments: rows)
    func `The decision on a response with a validator follows the directives`(
        control: String, age: Double, wanted: String, decision: String
    ) {
        let stored = StoredPage.response("ETag: \"1\" | Cache-Control: \(control)")
        #expect(self.decision(stored, after: age, wanting: "Cache-Control: \(wanted)").summary == decision)
    }

    static let uses: [(CacheUse, control: String, age: Double, decision: String)] = [
        (.reload, "max-age=100", 0, "validate, request"), (.reload, "max-age=100, immutable", 0, "validate, request"),
        (.preferringStored, "max-age=100", 1e9, "serve"), (.onlyStored, "max-age=100", 1e9, "serve"),
        (.preferringStored, "no-cache", 0, "validate, stale"), (.onlyStored, "no-cache", 0, "refuse, stale"),
        (.preferringStored, "max-age=100, must-revalidate", 100, "validate, stale"),
        (.onlyStored, "max-age=100, must-revalidate", 99, "serve"),
    ]

    @Test(arguments: uses)
    func `The cache use of a request decides like the directives`(
        use: CacheUse, control: String, age: Double, decision: String
    ) {
        let stored = StoredPage.response("ETag: \"1\" | Cache-Control: \(control)")
        #expect(self.decision(stored, after: age, wanting: "", use: use).summary == decision)
    }

    @Test func `A response without a validator is requested again, and an empty store is a miss`() {
        let stored = StoredPage.response("Cache-Control: max-age=100")
        #expect(decision(stored, after: 100, wanting: "").summary == "forward, stale")
        #expect(decision(stored, after: 0, wanting: "Cache-Control: no-cache").summary == "forward, request")
        #expect(decision(after: 0, wanting: "").summary == "forward, uri-miss")
        #expect(decision(after: 0, wanting: "", use: .onlyStored).summary == "refuse, uri-miss")
    }

    @Test func `A clock that was set back does not keep a response fresh`() {
        let stored = StoredPage.response("ETag: \"1\" | Cache-Control: max-age=100")
        #expect(decision(stored, after: -99, wanting: "").summary == "serve")
        #expect(decision(stored, after: -1e6, wanting: "").summary == "validate, stale")
    }

    @Test func `Of several selected responses the latest is used`() {
        let latest = StoredPage.response("ETag: \"2\" | Cache-Control: max-age=100")
        let older = StoredPage.response("ETag: \"1\" | Cache-Control: max-age=1000 | Vary: A")
        let decision = decision(latest, older, after: 200, wanting: "")
        #expect(decision.summary == "validate, stale")
        #expect(decision.asked.map { $0.head.headerFields[.eTag] } == ["\"2\""])
    }

    // MARK: Variants

    @Test func `A request that selects no variant validates those with strong tags`() {
        let dutch = StoredPage.response("ETag: \"nl\" | Vary: A", to: "A: nl")
        let weak = StoredPage.response("ETag: W/\"x\" | Vary: A | Cache-Control: max-age=100", to: "A: fr")
        let dated = StoredPage.response("Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT | Vary: A", to: "A: de")

        let one = decision(dutch, weak, dated, after: 0, wanting: "A: en")
        #expect(one.summary == "validate, vary-miss")
        #expect(one.asked.map { $0.head.headerFields[.eTag] } == ["\"nl\""])
        #expect(decision(weak, dated, after: 0, wanting: "A: en").summary == "forward, vary-miss")
        #expect(decision(dutch, after: 0, wanting: "A: en", use: .onlyStored).summary == "refuse, vary-miss")
        #expect(decision(weak, after: 0, wanting: "A: fr").summary == "serve")
    }

    @Test(arguments: [
        ("", "forward, vary-miss"), ("Range: bytes=5-9", "forward, vary-miss"),
        ("Range: bytes=4-", "forward, vary-miss"), ("Range: bytes=1-3", "validate, vary-miss"),
    ])
    func `A request that selects no variant validates a part only if it covers the range`(
        range: String, decision: String
    ) {
        let part = StoredPage.response(
            "ETag: \"1\" | Vary: A | Content-Range: bytes 0-4/20", status: 206, body: "01234", to: "A: nl")
        #expect(self.decision(part, after: 0, wanting: "A: en | \(range)").summary == decision)
    }

    @Test func `At most eight responses are validated at once`() {
        let variants = (0..<20).map { StoredPage.response("ETag: \"\($0)\" | Vary: A", to: "A: \($0)") }
        let request = StoredPage.request("A: x")
        let decision = CacheDecision.decide(
            request, wanting: CacheRequest([:], use: .standard), from: variants, at: StoredPage.date, policy: .standard)
        #expect(decision.asked.count == 8)
    }

    // MARK: Cookies

    static let cookies: [(stored: String, status: String, age: Double, asked: String, decision: String)] = [
        // The same cookie, and a response for which cookies do not matter.
        ("Cookie: a=1", "ETag: \"1\" | Cache-Control: max-age=100", 0, "Cookie: a=1", "serve"),
        ("Cookie: a=1", "Cache-Control: max-age=100, public", 0, "Cookie: a=2", "serve"),
        ("Cookie: a=1", "Cache-Control: max-age=100, public", 0, "", "serve"),
        ("Cookie: a=1", "ETag: \"1\" | Cache-Control: max-age=100, public", 100, "Cookie: a=2", "validate, stale"),
        // Vary decides.
        ("Cookie: a=1", "ETag: \"1\" | Cache-Control: max-age=100 | Vary: Cookie", 0, "Cookie: a=1", "serve"),
        ("Cookie: a=1", "Cache-Control: max-age=100 | Vary: Cookie", 0, "Cookie: a=2", "forward, vary-miss"),
        ("", "Cache-Control: max-age=100 | Vary: Cookie", 0, "Cookie: a=2", "forward, vary-miss"),
        // Another cookie.
        ("Cookie: a=1", "ETag: \"1\" | Cache-Control: max-age=100", 0, "Cookie: a=2", "validate, vary-miss"),
        ("Cookie: a=1", "ETag: \"1\" | Cache-Control: max-age=100", 0, "", "validate, vary-miss"),
        ("Cookie: a=1", "ETag: W/\"1\" | Cache-Control: max-age=100", 0, "Cookie: a=2", "forward, vary-miss"),
        ("Cookie: a=1", "Last-Modified: x | Cache-Control: max-age=100", 0, "Cookie: a=2", "forward, vary-miss"),
        ("Cookie: a=1", "Cache-Control: max-age=100, private", 0, "Cookie: a=2", "forward, vary-miss"),
        (
            "Cookie: a=1", "Cache-Control: max-age=100, stale-while-revalidate=50", 110, "Cookie: a=2",
            "forward, vary-miss"
        ),
        (
            "Cookie: a=1", "ETag: \"1\" | Cache-Control: max-age=100", 0,
            "Cookie: a=2 | Cache-Control: only-if-cached", "refuse, vary-miss"
        ),
        (
            "Cookie: a=1", "ETag: \"1\" | Cache-Control: max-age=100", 110,
            "Cookie: a=2 | Cache-Control: max-stale", "validate, vary-miss"
        ),
        // A response that was requested without a cookie.
        ("", "Cache-Control: max-age=100", 99, "Cookie: a=1", "serve"),
        ("", "ETag: \"1\" | Cache-Control: max-age=100", 100, "Cookie: a=1", "validate, vary-miss"),
        ("", "ETag: W/\"1\" | Cache-Control: max-age=100", 100, "Cookie: a=1", "forward, vary-miss"),
        ("", "Cache-Control: max-age=100, no-cache", 0, "Cookie: a=1", "forward, vary-miss"),
        ("", "Cache-Control: max-age=100", 60, "Cookie: a=1 | Cache-Control: max-age=50", "forward, vary-miss"),
        ("", "Cache-Control: max-age=100", 60, "Cookie: a=1 | Cache-Control: min-fresh=50", "forward, vary-miss"),
        ("", "Cache-Control: max-age=100", 110, "Cookie: a=1 | Cache-Control: max-stale", "forward, vary-miss"),
        ("", "Cache-Control: max-age=100, stale-while-revalidate=50", 110, "Cookie: a=1", "forward, vary-miss"),
    ]

    @Test(arguments: cookies)
    func `A response for another cookie is validated by its strong tag, and never used before`(
        stored: String, status: String, age: Double, asked: String, decision: String
    ) {
        let response = StoredPage.response(status, to: stored)
        let decided = self.decision(response, after: age, wanting: asked)
        #expect(decided.summary == decision)
        if decision != "validate, stale" { #expect(decided.fallback == nil) }
    }

    // MARK: If-Range

    static let modified = "Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT | Date: Sun, 09 Sep 2001 01:46:00 GMT"

    static let conditions: [(stored: String, condition: String, decision: String)] = [
        ("ETag: \"1\"", "\"1\"", "serve part"), ("ETag: \"1\"", "\"2\"", "serve"), ("ETag: \"1\"", "W/\"1\"", "serve"),
        ("ETag: W/\"1\"", "W/\"1\"", "serve"), ("ETag: W/\"1\"", "\"1\"", "serve"), ("", "\"1\"", "serve"),
        (modified, "Sun, 09 Sep 2001 01:45:00 GMT", "serve part"),
        (modified, "Sun, 09 Sep 2001 01:45:01 GMT", "serve"), (modified, "Sunday, 09-Sep-01 01:45:00 GMT", "serve"),
        (
            "Last-Modified: Sun, 09 Sep 2001 01:45:01 GMT | Date: Sun, 09 Sep 2001 01:46:00 GMT",
            "Sun, 09 Sep 2001 01:45:01 GMT", "serve"
        ),
        ("Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT", "Sun, 09 Sep 2001 01:45:00 GMT", "serve"),
        ("Last-Modified: x | Date: x", "x", "serve"), ("ETag: \"1\"", "", "serve"),
    ]

    @Test(arguments: conditions)
    func `If-Range decides between the range and the whole content`(
        stored: String, condition: String, decision: String
    ) {
        let response = StoredPage.response("Cache-Control: max-age=100 | \(stored)")
        let request = StoredPage.request("Range: bytes=2-4 | If-Range: \(condition)")
        let range = Preconditions.range(of: request, in: response)
        let decided = self.decision(response, after: 0, wanting: "Range: bytes=2-4 | If-Range: \(condition)")
        #expect(decided.summary + (range == nil ? "" : " part") == decision)
        #expect(Preconditions.range(of: StoredPage.request("If-Range: \(condition)"), in: response) == nil)
    }

    @Test func `A stored part does not answer a request whose If-Range fails`() {
        let part = StoredPage.response(
            "ETag: \"1\" | Cache-Control: max-age=100 | Content-Range: bytes 0-9/20", status: 206)
        #expect(decision(part, after: 0, wanting: "Range: bytes=2-4 | If-Range: \"1\"").summary == "serve")
        #expect(decision(part, after: 0, wanting: "Range: bytes=2-4 | If-Range: \"2\"").summary == "forward, partial")
    }

    // MARK: Parts

    static let ranges: [(stored: String, status: Int, range: String, decision: String)] = [
        ("", 200, "bytes=0-4", "serve"), ("", 200, "bytes=20-", "serve"), ("", 404, "bytes=0-4", "serve"),
        ("Content-Range: bytes 0-9/20", 206, "bytes=2-4", "serve"),
        ("Content-Range: bytes 0-9/20", 206, "bytes=5-10", "forward, partial"),
        ("Content-Range: bytes 0-9/20", 206, "bytes=5-", "forward, partial"),
        ("Content-Range: bytes 10-19/20", 206, "bytes=-10", "serve"),
        ("Content-Range: bytes 10-19/20", 206, "bytes=-11", "forward, partial"),
        ("Content-Range: bytes 0-9/20", 206, "bytes=20-", "forward, partial"),
        ("Content-Range: bytes 0-9/20", 206, "", "complete bytes=10-"),
        ("Content-Range: bytes 10-19/20", 206, "", "forward, partial"),
        ("Content-Range: bytes 0-9/*", 206, "", "forward, partial"),
        ("Content-Range: bytes 0-9/*", 206, "bytes=0-1", "forward, partial"),
    ]

    @Test(arguments: ranges)
    func `A part is served, completed, or not used`(stored: String, status: Int, range: String, decision: String) {
        let response = StoredPage.response("ETag: \"1\" | Cache-Control: max-age=100 | \(stored)", status: status)
        #expect(self.decision(response, after: 0, wanting: range.isEmpty ? "" : "Range: \(range)").summary == decision)
    }

    @Test func `A part is not completed for a HEAD, or without the network`() {
        let part = StoredPage.response("Cache-Control: max-age=100 | Content-Range: bytes 0-9/20", status: 206)
        #expect(decision(part, after: 0, wanting: "", method: .head).summary == "forward, partial")
        #expect(decision(part, after: 0, wanting: "", use: .onlyStored).summary == "refuse, partial")
    }

    // MARK: Fallbacks

    static let fallbacks: [(control: String, age: Double, wanted: String, errors: Bool?, unreachable: Bool?)] = [
        ("max-age=100", 100, "", false, true),
        ("max-age=0", 0, "", false, true),
        ("max-age=100", 86_500, "", false, true),
        ("max-age=100", 86_501, "", false, false),
        ("max-age=100, stale-if-error=60", 160, "", true, true),
        ("max-age=100, stale-if-error=60", 161, "", false, true),
        ("max-age=100", 160, "stale-if-error=60", true, true),
        ("max-age=100, stale-if-error=5", 160, "stale-if-error=60", true, true),
        ("max-age=100, stale-if-error", 160, "", false, true),
        ("max-age=100, stale-if-error=60, must-revalidate", 110, "", nil, nil),
        ("max-age=100, stale-if-error=60, no-cache", 110, "", nil, nil),
        ("max-age=100, stale-if-error=60", 110, "no-cache", nil, nil),
        ("max-age=100, stale-if-error=60", 110, "max-age=100", nil, nil),
        ("max-age=100", 50, "min-fresh=60", false, true),
        ("max-age=100, stale-while-revalidate=50, stale-if-error=60", 110, "", true, true),
        ("max-age=100, stale-while-revalidate=50", 110, "", false, true),
    ]

    @Test(arguments: fallbacks)
    func `A stale response is the fallback if both sides allow it`(
        control: String, age: Double, wanted: String, errors: Bool?, unreachable: Bool?
    ) {
        for validator in ["", "ETag: \"1\" | "] {
            let stored = StoredPage.response("\(validator)Cache-Control: \(control)")
            let fallback = decision(stored, after: age, wanting: "Cache-Control: \(wanted)").fallback
            #expect(fallback?.isUsedForErrors == errors)
            #expect(fallback?.isUsedWhereUnreachable == unreachable)
        }
    }

    @Test(arguments: [0, -5]) func `A limit of zero or less makes an unreachable server an error`(seconds: Int) {
        var policy = CachingPolicy()
        policy.staleIfUnreachable = .seconds(seconds)
        let stored = StoredPage.response("Cache-Control: max-age=0")
        #expect(decision(stored, after: 0, wanting: "", policy: policy).fallback?.isUsedWhereUnreachable == false)
    }

    @Test(arguments: [
        ("", 160, true), ("", 161, false), (", must-revalidate", 160, nil), (", stale-if-error=5", 160, true),
    ])
    func `The policy may use a stale response for errors`(control: String, age: Double, isUsed: Bool?) {
        var policy = CachingPolicy()
        policy.staleIfError = .seconds(60)
        let stored = StoredPage.response("Cache-Control: max-age=100\(control)")
        #expect(decision(stored, after: age, wanting: "", policy: policy).fallback?.isUsedForErrors == isUsed)
    }

    private func fallback(forErrors: Bool = false, whereUnreachable: Bool = false) -> StaleFallback {
        StaleFallback(
            stored: StoredPage.response(), isUsedForErrors: forErrors, isUsedWhereUnreachable: whereUnreachable)
    }

    @Test func `A fallback replaces statuses of server errors`() {
        for status in [500, 502, 503, 504] {
            #expect(fallback(forErrors: true).replaces(StoredPage.head(status: status)))
            #expect(!fallback(whereUnreachable: true).replaces(StoredPage.head(status: status)))
        }
        for status in [200, 404, 429, 501, 505] {
            #expect(!fallback(forErrors: true).replaces(StoredPage.head(status: status)))
        }
    }

    private struct LayerError: ReachabilityError {
        var meansServerNotReached: Bool
    }

    private static let errors: [(error: any Error, isReplaced: Bool)] = [
        (TransportError(.connectionRefused, at: .connecting), true),
        (TransportError(.hostNotFound, at: .connecting), true), (TransportError(.unreachable, at: .connecting), true),
        (TransportError(.timedOut, at: .connecting), true), (TransportError(.timedOut, at: .head), true),
        (TransportError(.connectionLost, at: .head), true), (TransportError(.connectionLost, at: .body), false),
        (TransportError(.timedOut, at: .body), false), (TransportError(.tls, at: .connecting), false),
        (TransportError(.proxyRefused, at: .connecting), false), (TransportError(.truncated, at: .head), false),
        (TransportError(.malformedResponse, at: .head), false),
        (TransportError(.undecodableContent, at: .head), false),
        (TransportError(.unreadableBody, at: .connecting), false),
        (TransportError(.expectationFailed, at: .head), false),
        (TransportError(.limitExceeded, at: .connecting), false), (TransportError(.closed, at: .connecting), false),
        (TransportError(.other, at: .connecting), false),
        (TransportError(.init("custom"), at: .connecting), false),
        (URLError(.notConnectedToInternet), false), (LayerError(meansServerNotReached: false), false),
        (LayerError(meansServerNotReached: true), true), (CancellationError(), false),
    ]

    @Test func `A fallback replaces the errors that mean that the server was not reached`() {
        for (error, isReplaced) in Self.errors {
            #expect(fallback(whereUnreachable: true).replaces(error, by: .standard) == isReplaced, "\(error)")
            #expect(fallback(forErrors: true).replaces(error, by: .standard) == isReplaced, "\(error)")
            #expect(!fallback().replaces(error, by: .standard))
        }
    }

    @Test func `The policy may judge an error itself, but no cancellation`() {
        var policy = CachingPolicy()
        policy.meansServerNotReached = { !($0 is TransportError) }
        let fallback = fallback(whereUnreachable: true)
        #expect(fallback.replaces(URLError(.timedOut), by: policy))
        #expect(!fallback.replaces(TransportError(.unreachable, at: .connecting), by: policy))
        #expect(!fallback.replaces(CancellationError(), by: policy))
    }
}

extension CacheDecision {
    /// The decision in words.
    var summary: String {
        switch self {
        case .serve(_, _, _, let stale): stale == nil ? "serve" : "serve, validate behind"
        case .forward(.complete(_, let missing), _, _): "complete \(missing.value)"
        case .forward(.ask, let cause, _): "\(asked.isEmpty ? "forward" : "validate"), \(cause.reason)"
        case .refuse(let cause): "refuse, \(cause.reason)"
        }
    }

    /// The responses that are validated.
    fileprivate var asked: [StoredResponse] {
        if case .forward(.ask(let stored), _, _) = self { stored } else { [] }
    }

    fileprivate var fallback: StaleFallback? {
        switch self {
        case .forward(_, _, let fallback), .serve(_, _, _, let fallback): fallback
        case .refuse: nil
        }
    }
}
