import Decorum
import Foundation
import HTTPTypes
import Testing

@Suite struct RequestTests {
    @Test(arguments: [
        ("https://example.com", "https", "example.com", "/"),
        ("HTTPS://Example.COM/A?b=C", "https", "example.com", "/A?b=C"),
        ("http://example.com:8080?q=1", "http", "example.com:8080", "/?q=1"),
        ("http://[::1]:8080/x", "http", "[::1]:8080", "/x"),
        ("https://example.com/%7Euser/a%2Fb?x=%20#part", "https", "example.com", "/%7Euser/a%2Fb?x=%20"),
        ("https://example.com/?", "https", "example.com", "/?"),
        ("https://example.com/caf\u{E9}", "https", "example.com", "/caf%C3%A9"),
        // Browsers read these in another way.
        ("https://example.com:443/a/../b/./c", "https", "example.com:443", "/a/../b/./c"),
        ("https://example.com/a\\b?c|d", "https", "example.com", "/a%5Cb?c%7Cd"),
        ("https://0x7f.1/", "https", "0x7f.1", "/"),
    ]) func `A URL becomes a target, byte for byte`(
        url: String, scheme: String, authority: String, path: String
    ) throws {
        let request = try Request.get(url)
        #expect(request.head.scheme == scheme)
        #expect(request.head.authority == authority)
        #expect(request.head.path == path)
    }

    @Test(arguments: [
        ("https://a.example/x/y?q=1#old", "../z", "https://a.example/z"),
        ("https://a.example/x/y?q=1", "?q=2#new", "https://a.example/x/y?q=2#new"),
        ("https://a.example/x", "//b.example:8443/c", "https://b.example:8443/c"),
        ("https://a.example/x", "http://c.example", "http://c.example/"),
    ])
    func `The URL of a request is replaced by a reference`(url: String, reference: String, result: String) throws {
        var request = try Request.post(url, fields: [.accept: "text/html"], body: "content")
        try request.replaceURL(with: reference)
        #expect(request.url?.absoluteString == result)
        #expect(request.head.method == .post && request.head.headerFields[.accept] == "text/html")
    }

    @Test func `A reference that cannot be sent to leaves the request as it is, and a relative request stays relative`()
        throws
    {
        var request = try Request.get("https://a.example/x")
        #expect(throws: InvalidRequestError.self) { try request.replaceURL(with: "ftp://a.example/") }
        #expect(request.url?.absoluteString == "https://a.example/x")
        var relative = try Request.get("items/1")
        try relative.replaceURL(with: "2?a=b")
        #expect(relative.head.path == "items/2?a=b" && relative.url == nil)
    }

    @Test func `A fragment is stored separately and is never part of the path`() throws {
        let request = try Request.get("https://example.com/a#part")
        #expect(request.options.fragment == "part")
        #expect(request.head.path == "/a")
        #expect(request.url == URL(string: "https://example.com/a#part"))
    }

    @Test(arguments: [
        ("ftp://example.com/", InvalidRequestError.Reason.unsupportedScheme),
        ("file:///etc/passwd", .unsupportedScheme),
        ("mailto:a@example.com", .unsupportedScheme),
        ("localhost:8080/items", .unsupportedScheme),
        ("https:items", .invalidHost),
        ("https://", .invalidHost),
        ("https:///path", .invalidHost),
        ("https://:80/", .invalidHost),
        ("//example.com/", .missingOrigin),
        ("https://example.com:99999/", .invalidPort),
        ("https://user:secret@example.com/", .userinfo),
        ("https://exa mple.com/", .invalidHost),
        ("https://example.com:port/", .invalidPort),
        ("https://user:secret@exa mple.com/", .userinfo),
        ("https://example.com/a b", .invalidURL),
        ("https://example.com/\r\nX-Injected: 1", .invalidURL),
        ("https://example.com/\u{0}", .invalidURL),
        ("https://[::1/", .invalidHost),
        ("https:/example.com/", .invalidHost),
        (" https://example.com/", .invalidURL),
        ("https://example.com\\@evil.example/", .userinfo),
    ]) func `A URL that cannot be sent to throws`(url: String, reason: InvalidRequestError.Reason) {
        let error = #expect(throws: InvalidRequestError.self) { try Request.get(url) }
        #expect(error?.reason == reason)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func `A relative reference is kept for a stack with a base URL, and cannot be sent without one`() throws {
        let request = try Request.get("items?page=2")
        #expect(request.head.path == "items?page=2")
        #expect(request.url == nil)
        let error = #expect(throws: InvalidRequestError.self) { try request.validate() }
        #expect(error?.reason == .missingOrigin)
    }

    @Test(arguments: ["", "x", "a b", "/a b", "/a\u{1F}b", "/caf\u{E9}", "/a#b"])
    func `A path that is invalid in a request line does not validate`(path: String) {
        let request = Request(head: HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: path))
        #expect(throws: InvalidRequestError.self) { try request.validate() }
    }

    @Test func `Requests compare by method, target, fields and body`() throws {
        let request = try Request.post("https://example.com/", fields: [.eTag: "1"], body: "x")
        var same = try Request.post("https://EXAMPLE.com", body: "x")
        same.head.headerFields.append(HTTPField(name: try #require(HTTPField.Name("etag")), value: "1"))
        same.options.routeName = "other"
        #expect(request == same)

        var others = [request, request, request, request]
        others[0].head.method = .put
        others[1].head.path = "/other"
        others[2].head.headerFields[.eTag] = "2"
        others[3].body = "y"
        for other in others { #expect(request != other) }
    }

    @Test func `Options are part of a request, and other modules add their own`() throws {
        var request = try Request.get("https://example.com/")
        #expect(request.options.tenant == nil)
        #expect(request.options.idleTimeout == nil)
        request.options.tenant = "a"
        request.options.idleTimeout = .seconds(1)
        let copy = request
        request.options.tenant = "b"
        #expect(copy.options.tenant == "a")
        #expect(copy.options.idleTimeout == .seconds(1))
        request.options.tenant = nil
        #expect(request.options.tenant == nil)
    }

    @Test func `Random references cause no crash and give no target with a control character`() {
        let generator = SeededGenerator(seed: 7)
        let alphabet = Array("https://:@?#[]%/\\ \r\n\0\u{E9}\u{1F600}abc.0123456789")
        for _ in 0..<5000 {
            let length = Int(generator.next() % 40)
            let text = String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            for candidate in [text, "https://" + text, "http://host/" + text] {
                guard let request = try? Request.get(candidate), (try? request.validate()) != nil else { continue }
                #expect(request.head.path?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } == true)
                #expect(request.url != nil)
            }
        }
    }
}

private enum TenantKey: RequestOptionKey {
    static let defaultValue: String? = nil
}

extension RequestOptions {
    fileprivate var tenant: String? {
        get { self[TenantKey.self] }
        set { self[TenantKey.self] = newValue }
    }
}
