import HTTPTypes
import Testing

@testable import Decorum

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
