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

    @Test func `A request with no-store passes through with any method`() {
        for method in [HTTPRequest.Method.get, .post] {
            let request = Request(head: StoredPage.request(method: method))
            #expect(CacheRequest([:], use: .none).causeToPass(request) == .requestNoStore)
        }
    }
}
