import DecorumEndpoints
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct URLRequestTests {
    @Test func `A URLRequest gives its method, URL, fields and content`() throws {
        var original = URLRequest(url: try #require(URL(string: "https://example.com/a?b=c%20d")))
        original.httpMethod = "PATCH"
        original.setValue("de", forHTTPHeaderField: "Accept-Language")
        original.httpBody = Data("x".utf8)
        let request = try Request(original)
        #expect(request.head.method == .patch)
        #expect(request.url == original.url)
        #expect(request.head.headerFields[.acceptLanguage] == "de")
        #expect(request.body.bytes == Data("x".utf8))
    }

    @Test func `A request comes back as it was`() async throws {
        let request = try Request.post("https://example.com/a", fields: [.acceptLanguage: "de"], body: "text")
        let back = try Request(await URLRequest(request, upTo: 1 << 10))
        #expect(back.head.method == request.head.method)
        #expect(back.url == request.url)
        #expect(back.head.headerFields[.acceptLanguage] == "de")
        #expect(back.head.headerFields[.contentType] == request.head.headerFields[.contentType])
        #expect(back.body == request.body)
    }

    @Test func `A stream and a relative request are refused`() async throws {
        var original = URLRequest(url: try #require(URL(string: "https://example.com/")))
        original.httpBodyStream = InputStream(data: Data("x".utf8))
        #expect(throws: InvalidRequestError.self) { try Request(original) }
        await #expect(throws: InvalidRequestError.self) { try await URLRequest(.get("items"), upTo: 1) }
    }
}
