import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Tests which differences between the request of the caller and the sent one prevent sharing the response.
struct SentRequestsTests {
    private static let asked = "https://example.com/page?a=b"

    /// Changes a request as a layer further in would, reports it, and returns the difference.
    private func difference(
        of asked: Request? = nil, showingClientCertificate: Bool = false, _ change: (inout Request) throws -> Void
    ) throws -> SentRequests.Difference? {
        var request = try asked ?? .get(Self.asked, fields: [.accept: "text/plain"])
        let sent = request.collectSent()
        try change(&request)
        request.reportSending(showingClientCertificate: showingClientCertificate)
        return sent.difference
    }

    @Test func `A request that no transport reports counts as unreported`() throws {
        var request = try Request.get(Self.asked)
        let sent = request.collectSent()
        #expect(sent.difference == .unreported)
        #expect(!sent.allowsSharing)
    }

    @Test func `With a principal, any sent request allows sharing`() throws {
        var request = try Request.get(Self.asked)
        request.options.principal = Principal("alice")
        let sent = request.collectSent()
        request.head.headerFields[.authorization] = "Bearer alice"
        request.reportSending()
        #expect(sent.allowsSharing)
        #expect(sent.difference == nil)
    }

    @Test(arguments: [
        "Authorization", "Cookie", "X-API-Key", "X-User-Id", "X-Tenant", "X-Zeug", "From", "Accept-Language",
    ])
    func `A field that is added or changed is a difference`(name: String) throws {
        let name = try #require(HTTPField.Name(name))
        #expect(try difference { $0.head.headerFields[name] = "alice" } == .field(name))

        let asked = try Request.get(Self.asked, fields: [name: "bob", .accept: "text/plain"])
        #expect(try difference(of: asked) { $0.head.headerFields[name] = "alice" } == .field(name))
        #expect(
            try difference(of: asked) { $0.head.headerFields.append(HTTPField(name: name, value: "alice")) }
                == .field(name))
        #expect(try difference(of: asked) { $0.head.headerFields[name] = nil } == nil)
    }

    @Test(
        arguments: [
            "Accept-Encoding", "User-Agent", "traceparent", "Date", "If-None-Match", "If-Modified-Since", "Range",
            "Idempotency-Key", "X-Request-ID",
        ])
    func `A field that does not identify the user is not a difference`(name: String) throws {
        let name = try #require(HTTPField.Name(name))
        #expect(try difference { $0.head.headerFields[name] = "1" } == nil)
        #expect(
            try difference { request in
                request.head.headerFields[name] = "1"
                request.options.secretFields.insert(name)
            } == .field(name))
        #expect(
            try difference { request in
                var field = HTTPField(name: name, value: "1")
                field.indexingStrategy = .disallow
                request.head.headerFields.append(field)
            } == .field(name))
    }

    @Test func `A token under a neutral name is a difference`() throws {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(try difference { $0.head.headerFields[.userAgent] = token } == .field(.userAgent))
    }

    @Test func `What does not identify the user is no difference`() throws {
        #expect(try difference { _ in } == nil)
        #expect(
            try difference { request in
                request.head.headerFields[.proxyAuthorization] = "Basic YWxpY2U="
                request.options.secretFields.insert(.proxyAuthorization)
            } == nil)
        let asked = try Request.post(Self.asked, fields: [.accept: "a", .cookie: "b", .from: "c"], body: "alice")
        #expect(
            try difference(of: asked) { request in
                request.body = .empty
                request.head.headerFields = [.from: "c", .accept: "a", .cookie: "b"]
                request.head.authority = "EXAMPLE.com:443"
            } == nil)
    }

    @Test func `Another target, method, content, principal or certificate is a difference`() throws {
        #expect(try difference { $0.head.path = "/page?a=b&key=alice" } == .target)
        #expect(try difference { $0.head.authority = "alice@example.com" } == .target)
        #expect(try difference { $0.head.authority = "alice.example.com" } == .target)
        #expect(try difference { $0.head.scheme = "http" } == .target)
        #expect(try difference { $0.head.method = .head } == .method)
        #expect(try difference { $0.body = "alice" } == .content)
        #expect(try difference { $0.options.principal = Principal("alice") } == .principal)
        #expect(try difference(showingClientCertificate: true) { _ in } == .clientCertificate)
    }

    @Test func `A reported redirection is not a difference, but requests before it count`() throws {
        let target = try Request.get("https://other.example/page").head
        #expect(
            try difference { request in
                request.reportSending()
                request.reportRedirection(to: target)
                request.head = target
            } == nil)
        #expect(
            try difference { request in
                request.head.headerFields[.authorization] = "Bearer alice"
                request.reportSending()
                request.reportRedirection(to: target)
                request.head = target
            } == .field(.authorization))
        #expect(try difference { $0.head = target } == .target)
    }

    @Test func `A collector further out gets the reports of one further in`() throws {
        var request = try Request.get(Self.asked)
        let outer = request.collectSent()
        request.head.headerFields[.authorization] = "Bearer alice"
        let inner = request.collectSent()
        request.reportSending()
        #expect(inner.difference == nil)
        #expect(outer.difference == .field(.authorization))
    }

    @Test func `A difference holds no value of the request`() throws {
        let difference = try difference { request in
            request.head.headerFields[.authorization] = "Bearer alice"
            request.head.path = "/alice"
        }
        #expect(difference?.description.contains("alice") == false)
    }
}
