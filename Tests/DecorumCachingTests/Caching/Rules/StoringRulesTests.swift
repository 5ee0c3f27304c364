import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9111, section 3, and RFC 9110, section 9.3.3.
@Suite struct StoringRulesTests {
    private func refusal(
        of fields: String, status: Int = 200, to requested: String = "", method: HTTPRequest.Method = .get
    ) -> StoringRules.Refusal? {
        let response = StoredPage.head(fields, status: status)
        let request = StoredPage.request(requested, method: method)
        return method == .post
            ? StoringRules.refusal(of: response, toPost: request) : StoringRules.refusal(of: response, to: request)
    }

    static let rows: [(Int, String, StoringRules.Refusal?)] = [
        (200, "Cache-Control: max-age=5", nil), (200, "Cache-Control: private, max-age=5", nil),
        (200, "Expires: 0", nil), (200, "ETag: \"1\"", nil), (200, "Last-Modified: x", nil), (200, "", .useless),
        (200, "Cache-Control: stale-while-revalidate=5", nil), (200, "Cache-Control: no-cache | ETag: \"1\"", nil),
        (200, "Cache-Control: no-cache", .useless), (200, "Cache-Control: public", .useless),
        // A status that is cacheable by default, and one that is not.
        (404, "ETag: \"1\"", nil), (410, "ETag: \"1\"", nil), (301, "Cache-Control: max-age=5", nil),
        (302, "ETag: \"1\"", .status), (302, "Cache-Control: max-age=5", nil), (302, "Expires: 0", nil),
        (302, "Cache-Control: public | ETag: \"1\"", nil), (500, "ETag: \"1\"", .status),
        (500, "Cache-Control: max-age=5", nil), (599, "Cache-Control: max-age=5", nil),
        (100, "Cache-Control: max-age=5", .condition), (103, "Cache-Control: max-age=5", .condition),
        // Responses to conditional requests.
        (304, "Cache-Control: max-age=5", .condition), (412, "Cache-Control: max-age=5", .condition),
        (416, "Cache-Control: max-age=5", .condition),
        // Forbidden responses.
        (200, "Cache-Control: max-age=5, no-store", .response), (200, "Cache-Control: No-Store=x", .response),
        (200, "Cache-Control: max-age=5 | Cache-Control: no-store", .response),
        (200, "Cache-Control: a=\"b, no-store, max-age=5", .response),
        (200, "Cache-Control: a=\"no-store\", max-age=5", nil),
        (200, "Cache-Control: max-age=5, no-store, must-understand", nil),
        (302, "Cache-Control: max-age=5, no-store, must-understand", nil),
        (599, "Cache-Control: max-age=5, no-store, must-understand", .understanding),
        (599, "Cache-Control: max-age=5, must-understand", .understanding),
        (200, "Cache-Control: max-age=5 | Vary: *", .vary), (200, "Cache-Control: max-age=5 | Vary: A, *", .vary),
        (200, "Cache-Control: max-age=5 | Vary: A | Vary: *", .vary),
        (200, "Cache-Control: max-age=5 | Vary: not a name", .vary), (200, "Cache-Control: max-age=5 | Vary: A", nil),
        // Parts.
        (206, "Cache-Control: max-age=5 | Content-Range: bytes 0-4/10", nil),
        (206, "Cache-Control: max-age=5 | Content-Range: bytes 4-0/10", .part),
        (206, "Cache-Control: max-age=5 | Content-Range: lines 0-4/10", .part),
        (206, "Cache-Control: max-age=5 | Content-Type: multipart/byteranges", .part),
    ]

    @Test(arguments: rows)
    func `A response is stored or refused`(status: Int, fields: String, refusal: StoringRules.Refusal?) {
        #expect(self.refusal(of: fields, status: status) == refusal)
    }

    @Test func `The request may forbid storing`() {
        #expect(refusal(of: "Cache-Control: max-age=5", to: "Cache-Control: no-store") == .request)
        #expect(refusal(of: "Cache-Control: max-age=5", to: "Cache-Control: no-cache") == nil)
        #expect(refusal(of: "Cache-Control: max-age=5", to: "Authorization: Basic x") == nil)
        #expect(refusal(of: "Cache-Control: max-age=5", to: "Range: bytes=0-4") == nil)
        #expect(refusal(of: "Cache-Control: max-age=5", status: 404, to: "Range: bytes=0-4") == .part)
    }

    static let shared: [(fields: String, varies: Bool)] = [
        ("", false), ("Cache-Control: max-age=5", false), ("Cache-Control: private", false),
        ("Cache-Control: no-store", false), ("Cache-Control: no-cache", false),
        ("Cache-Control: no-cache=\"A\"", false), ("Pragma: no-cache", false),
        ("Pragma: x", false), ("Pragma: no-cache | Cache-Control: max-age=5", false),
        ("Vary: A", false), ("Vary: *", true), ("Vary: A, X-Request-ID", true),
        ("Vary: A | Vary: x-request-id", true),
    ]

    @Test(arguments: shared)
    func `A response may vary by fields in which requests that share it differ`(fields: String, varies: Bool) {
        let head = StoredPage.head(fields)
        #expect(StoringRules.varies(head, by: FieldNames(CoalescingPolicy.callFields)) == varies)
    }

    static let posts: [(Int, String, String, StoringRules.Refusal?)] = [
        (200, "Cache-Control: max-age=5 | Content-Location: /page", "", nil),
        (200, "Cache-Control: max-age=5 | Content-Location: https://example.com/page", "", nil),
        (200, "Expires: 0 | Content-Location: page", "", nil),
        (200, "Cache-Control: max-age=5", "", .method),
        (200, "Cache-Control: max-age=5 | Content-Location: /other", "", .method),
        (200, "Cache-Control: max-age=5 | Content-Location: https://example.org/page", "", .method),
        (200, "Cache-Control: max-age=5 | Content-Location: http://example.com/page", "", .method),
        (200, "Cache-Control: max-age=5 | Content-Location: http://[", "", .method),
        (200, "ETag: \"1\" | Content-Location: /page", "", .method),
        (201, "Cache-Control: max-age=5 | Content-Location: /page", "", .method),
        (200, "Cache-Control: max-age=5, no-store | Content-Location: /page", "", .response),
        (200, "Cache-Control: max-age=5 | Content-Location: /page", "Cache-Control: no-store", .request),
    ]

    @Test(arguments: posts)
    func `A response to POST is stored if a GET would get the same`(
        status: Int, fields: String, requested: String, refusal: StoringRules.Refusal?
    ) {
        #expect(self.refusal(of: fields, status: status, to: requested, method: .post) == refusal)
    }

    static let storable: [(String, String)] = [
        ("ETag: \"1\" | Set-Cookie: a", "ETag: \"1\" | Set-Cookie: a"),
        ("A: 1 | Connection: a, B | B: 2 | C: 3", "C: 3"),
        (
            "Keep-Alive: 1 | Transfer-Encoding: chunked | TE: trailers | Upgrade: x | Proxy-Authenticate: x | C: 3",
            "C: 3"
        ),
        ("Cache-Control: no-cache=\"set-cookie\" | Set-Cookie: a", "Cache-Control: no-cache=\"set-cookie\""),
        (
            "Cache-Control: no-cache=A, no-cache=\"B, C\" | A: 1 | B: 2 | C: 3",
            "Cache-Control: no-cache=A, no-cache=\"B, C\""
        ),
        (
            "Cache-Control: no-cache=\"Vary, Cache-Control\" | Vary: A",
            "Cache-Control: no-cache=\"Vary, Cache-Control\" | Vary: A"
        ),
        ("Connection: Vary, Cache-Control | Vary: A | Cache-Control: no-cache", "Vary: A | Cache-Control: no-cache"),
        ("Cache-Control: no-cache | Set-Cookie: a", "Cache-Control: no-cache | Set-Cookie: a"),
    ]

    @Test(arguments: storable)
    func `Fields of the connection, and fields that need validation, are not stored`(fields: String, stored: String) {
        let head = StoringRules.storable(StoredPage.head("Date: x | \(fields)"), receivedAt: StoredPage.date)
        #expect(head.headerFields == HTTPFields(lines: "Date: x | \(stored)"))
    }

    @Test(arguments: ["", "Connection: Date | Date: x"])
    func `A response without a date gets the one at which it was received`(fields: String) {
        let head = StoringRules.storable(
            StoredPage.head(fields), receivedAt: StoredPage.date.addingTimeInterval(0.9))
        #expect(head.headerFields == HTTPFields(lines: "Date: Sun, 09 Sep 2001 01:46:40 GMT"))
    }
}

/// RFC 9111, section 4.4.
@Suite struct InvalidationRulesTests {
    static let rows: [(String, Int, String, [String])] = [
        ("GET", 200, "Location: /other", []), ("HEAD", 200, "", []), ("OPTIONS", 200, "", []), ("TRACE", 200, "", []),
        ("QUERY", 200, "", []), ("PROPFIND", 207, "", []),
        ("POST", 200, "", ["https://example.com/page"]), ("PUT", 204, "", ["https://example.com/page"]),
        ("DELETE", 200, "", ["https://example.com/page"]), ("PATCH", 200, "", ["https://example.com/page"]),
        ("POST", 303, "", ["https://example.com/page"]), ("UNHEARD-OF", 200, "", ["https://example.com/page"]),
        ("get", 200, "", ["https://example.com/page"]),
        ("POST", 100, "", []), ("POST", 399, "", ["https://example.com/page"]), ("POST", 400, "", []),
        ("DELETE", 410, "", []), ("PUT", 412, "", []), ("PUT", 503, "Location: /new", []), ("POST", 404, "", []),
        ("POST", 500, "", []),
        ("POST", 201, "Location: /new", ["https://example.com/page", "https://example.com/new"]),
        ("POST", 201, "Location: new?q#part", ["https://example.com/page", "https://example.com/new?q"]),
        ("POST", 200, "Content-Location: /new", ["https://example.com/page", "https://example.com/new"]),
        (
            "POST", 200, "Location: /a | Content-Location: /b",
            ["https://example.com/page", "https://example.com/a", "https://example.com/b"]
        ),
        (
            "POST", 201, "Location: https://EXAMPLE.com:443/new",
            ["https://example.com/page", "https://example.com/new"]
        ),
        ("POST", 200, "Location: /page", ["https://example.com/page"]),
        ("POST", 201, "Location: https://example.org/new", ["https://example.com/page"]),
        ("POST", 201, "Location: //example.org/new", ["https://example.com/page"]),
        ("POST", 201, "Location: http://example.com/new", ["https://example.com/page"]),
        ("POST", 201, "Location: https://example.com:8443/new", ["https://example.com/page"]),
        ("POST", 201, "Location: https://example.com.evil/new", ["https://example.com/page"]),
        ("POST", 201, "Location: http://[", ["https://example.com/page"]),
        ("POST", 201, "Location: ", ["https://example.com/page"]),
    ]

    @Test(arguments: rows)
    func `A successful unsafe method invalidates the URIs that it may have changed`(
        method: String, status: Int, fields: String, uris: [String]
    ) throws {
        let request = StoredPage.request(method: try #require(HTTPRequest.Method(method)))
        let invalidated = InvalidationRules.invalidated(by: StoredPage.head(fields, status: status), to: request)
        #expect(invalidated.map(\.description) == uris)
    }

    @Test func `A request without an answer invalidates its own URI`() {
        let invalidated = { (method: HTTPRequest.Method) in
            InvalidationRules.invalidated(by: nil, to: StoredPage.request(method: method)).map(\.description)
        }
        #expect(invalidated(.post) == ["https://example.com/page"])
        #expect(invalidated(.get).isEmpty)
        #expect(invalidated(.query).isEmpty)
    }

    @Test func `The URIs are in their normal form`() {
        let request = HTTPRequest(method: .put, scheme: "https", authority: "EXAMPLE.com:443", path: "/a/../p%61ge")
        let response = StoredPage.head("Location: https://example.com/%7Ejoe | Content-Location: ./page", status: 201)
        let invalidated = InvalidationRules.invalidated(by: response, to: request)
        #expect(invalidated.map(\.description) == ["https://example.com/page", "https://example.com/~joe"])
    }
}
