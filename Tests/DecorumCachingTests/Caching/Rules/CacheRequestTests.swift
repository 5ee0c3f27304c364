import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9111, sections 5.2.1 and 5.4.
@Suite struct CacheRequestTests {
    private func wanted(_ fields: String, use: CacheUse = .standard) -> CacheRequest {
        CacheRequest(HTTPFields(lines: fields), use: use)
    }

    @Test func `A request without directives accepts fresh responses`() {
        for fields in ["", "Cache-Control: ", "Cache-Control: unknown, max-stales=5", "Pragma: x"] {
            let wanted = wanted(fields)
            #expect(!wanted.needsValidation)
            #expect(!wanted.isNoStore)
            #expect(!wanted.isOnlyIfCached)
            #expect(wanted.maxAge == nil)
            #expect(wanted.maxStale == nil)
            #expect(wanted.minFresh == 0)
            #expect(wanted.staleIfError == 0)
        }
    }

    @Test func `Each directive is read`() {
        #expect(wanted("Cache-Control: No-Cache").needsValidation)
        #expect(wanted("Cache-Control: no-store").isNoStore)
        #expect(wanted("Cache-Control: x | Cache-Control: only-if-cached").isOnlyIfCached)
        #expect(wanted("Cache-Control: max-age=5, min-fresh=6, stale-if-error=7").maxAge == 5)
        #expect(wanted("Cache-Control: max-age=5, min-fresh=6, stale-if-error=7").minFresh == 6)
        #expect(wanted("Cache-Control: max-age=5, min-fresh=6, stale-if-error=7").staleIfError == 7)
        #expect(wanted("Cache-Control: max-age=\"5\"").maxAge == 5)
        #expect(wanted("Cache-Control: max-age=x").maxAge == 0)
    }

    static let staleness: [(String, Double?)] = [
        ("max-stale", .infinity), ("max-stale=5", 5), ("max-stale=0", 0), ("max-stale=", 0), ("max-stale=x", 0),
        ("max-stale=-1", 0), ("max-stale=99999999999999999999", 2_147_483_648),
    ]

    @Test(arguments: staleness)
    func `An invalid limit to staleness counts as the strictest`(directive: String, limit: Double?) {
        #expect(wanted("Cache-Control: \(directive)").maxStale == limit)
    }

    @Test func `Pragma counts only without Cache-Control`() {
        #expect(wanted("Pragma: no-cache").needsValidation)
        #expect(!wanted("Pragma: no-cache | Cache-Control: max-age=5").needsValidation)
    }

    @Test func `The cache use adds to the directives of the fields`() {
        #expect(wanted("", use: .reload).needsValidation)
        #expect(wanted("", use: .preferringStored).maxStale == .infinity)
        #expect(!wanted("", use: .preferringStored).isOnlyIfCached)
        #expect(wanted("", use: .onlyStored).maxStale == .infinity)
        #expect(wanted("", use: .onlyStored).isOnlyIfCached)
        #expect(wanted("", use: .none).isNoStore)
        #expect(wanted("Cache-Control: no-cache", use: .onlyStored).needsValidation)
        #expect(wanted("Cache-Control: max-stale=5", use: .preferringStored).maxStale == .infinity)
    }

    static let passing: [(String, String, String, ForwardCause?)] = [
        ("GET", "", "", nil), ("HEAD", "", "", nil),
        ("POST", "", "", .method), ("PUT", "", "", .method), ("OPTIONS", "", "", .method), ("get", "", "", .method),
        ("QUERY", "", "", nil), ("QUERY", "", "x", nil), ("QUERY", "If-None-Match: \"1\"", "x", nil),
        ("QUERY", "Range: bytes=0-4", "x", .range), ("SEARCH", "", "x", .method),
        ("GET", "", "x", .content), ("HEAD", "", "x", .content),
        ("GET", "Cache-Control: no-store", "", .requestNoStore),
        ("POST", "Cache-Control: no-store", "", .requestNoStore),
        ("GET", "If-Match: \"1\"", "", .precondition), ("GET", "If-Range: \"1\"", "", nil),
        ("GET", "If-Unmodified-Since: Sun, 09 Sep 2001 01:46:40 GMT", "", .precondition),
        ("GET", "Range: bytes=0-4 | If-Range: \"1\"", "", nil),
        ("GET", "Range: bytes=0-1,3-4 | If-Range: \"1\"", "", .range),
        ("GET", "If-None-Match: \"1\"", "", nil), ("GET", "If-Modified-Since: x", "", nil),
        ("GET", "Range: bytes=0-4", "", nil), ("GET", "Range: bytes=0-1,3-4", "", .range),
        ("GET", "Range: bytes=4-0", "", .range), ("GET", "Range: lines=0-4", "", .range),
        ("HEAD", "Range: bytes=0-4", "", .range),
    ]

    @Test(arguments: passing)
    func `A request that a cache cannot answer passes through`(
        method: String, fields: String, body: String, cause: ForwardCause?
    ) throws {
        let method = try #require(HTTPRequest.Method(method))
        var request = Request(head: StoredPage.request(fields, method: method))
        if !body.isEmpty { request.body = Body(body) }
        #expect(CacheRequest(request.head.headerFields, use: .standard).causeToPass(request) == cause)
    }
}

/// The rules of a cache that asks the server each time: RFC 9110, section 13.1, and RFC 9111, section 4.3.
@Suite struct CacheModeTests {
    static let validating = {
        var policy = CachingPolicy()
        policy.mode = .validating
        return policy
    }()

    @Test func `A HEAD has a response of its own only where each response is validated`() {
        for method in [HTTPRequest.Method.get, .head, .query] {
            #expect(CacheMode.validating.methodOfStoredResponse(to: method) == method)
        }
        #expect(CacheMode.answering.methodOfStoredResponse(to: .head) == .get)
        #expect(CacheMode.answering.methodOfStoredResponse(to: .post) == .get)
        #expect(CacheMode.answering.methodOfStoredResponse(to: .query) == .query)
    }

    static let passing: [(String, String, ForwardCause?)] = [
        ("GET", "", nil), ("HEAD", "", nil), ("POST", "", .method), ("QUERY", "", .method),
        ("GET", "Cache-Control: no-store", .requestNoStore), ("GET", "Cache-Control: no-cache", nil),
        ("GET", "If-None-Match: \"1\"", .precondition), ("GET", "If-Modified-Since: x", .precondition),
        ("HEAD", "If-Match: \"1\"", .precondition), ("GET", "If-Unmodified-Since: x", .precondition),
        ("GET", "If-Range: \"1\"", .precondition), ("GET", "Range: bytes=0-4", .range),
    ]

    @Test(arguments: passing)
    func `A request with its own condition or range passes`(method: String, fields: String, cause: ForwardCause?) throws
    {
        let method = try #require(HTTPRequest.Method(method))
        let request = Request(head: StoredPage.request(fields, method: method))
        let wanted = CacheRequest(request.head.headerFields, use: .standard)
        #expect(wanted.causeToPass(request, in: .validating) == cause)
    }

    static let decisions: [(stored: String, to: String, asked: String, decision: String)] = [
        ("ETag: \"1\" | Cache-Control: max-age=100", "", "", "validate, stale"),
        ("ETag: \"1\" | Cache-Control: max-age=100, immutable", "", "", "validate, stale"),
        ("ETag: W/\"1\" | Cache-Control: stale-while-revalidate=100", "", "", "validate, stale"),
        ("ETag: \"1\"", "", "Cache-Control: only-if-cached", "validate, stale"),
        ("ETag: \"1\"", "", "Cache-Control: max-stale", "validate, stale"),
        ("ETag: \"1\" | Vary: A", "A: 1", "A: 2", "forward, vary-miss"),
        ("ETag: \"1\"", "Cookie: a=1", "Cookie: a=2", "validate, stale"),
        ("ETag: W/\"1\"", "Cookie: a=1", "Cookie: a=2", "forward, vary-miss"),
        ("ETag: W/\"1\" | Cache-Control: max-age=100", "", "Cookie: a=2", "forward, vary-miss"),
    ]

    @Test(arguments: decisions)
    func `A selected response is validated at any age, and no other`(
        stored: String, to requested: String, asked: String, decision: String
    ) {
        let request = StoredPage.request(asked)
        let wanted = CacheRequest(request.headerFields, use: .standard)
        let decided = CacheDecision.decide(
            request, wanting: wanted, from: [StoredPage.response(stored, to: requested)], at: StoredPage.date,
            policy: Self.validating)
        #expect(decided.summary == decision)
        let missed = CacheDecision.decide(
            request, wanting: wanted, from: [], at: StoredPage.date, policy: Self.validating)
        #expect(missed.summary == "forward, uri-miss")
    }

    static let responses: [(Int, String, StoringRules.Refusal?)] = [
        (200, "ETag: \"1\"", nil), (200, "Last-Modified: x", nil), (200, "ETag: W/\"1\"", nil),
        (200, "ETag: \"1\" | Cache-Control: no-cache", nil), (200, "Cache-Control: max-age=100", .useless),
        (200, "Date: x", nil), (200, "Date: x | Cache-Control: no-store", .response), (404, "Date: x", .status),
        (200, "ETag: \"1\" | Cache-Control: no-store", .response), (200, "ETag: \"1\" | Vary: *", .vary),
        (200, "ETag: \"1\" | Cache-Control: no-store, must-understand", .response),
        (404, "ETag: \"1\" | Cache-Control: max-age=100", .status), (206, "ETag: \"1\"", .status),
        (301, "ETag: \"1\"", .status),
    ]

    @Test(arguments: responses)
    func `Only a 200 with a validator or a date is stored`(status: Int, fields: String, refusal: StoringRules.Refusal?)
        throws
    {
        let response = StoredPage.head(fields, status: status)
        for method in [HTTPRequest.Method.get, .head] {
            let request = Request(head: StoredPage.request(method: method))
            let forwarded = ForwardedRequest(
                request, key: try #require(ResponseKey(request)), because: .validating, mayBeShared: true,
                datedBy: VirtualClock())
            forwarded.request(for: nil).reportSending()
            let decided = ResponseDecision.decide(about: response, "page", to: forwarded, by: Self.validating)
            switch (decided, refusal) {
            case (.store(let isReplacing), nil): #expect(isReplacing)
            case (.forget(let reason), let refusal?): #expect(status == 200 && reason == .refused(refusal))
            case (.pass(let reason), let refusal?): #expect(status != 200 && reason == .refused(refusal))
            default: Issue.record("The decision was \(decided).")
            }
        }
    }
}
