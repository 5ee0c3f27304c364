import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// References against a base (RFC 3986, section 5.2); `TargetTests` has the examples of the RFC.
@Suite struct BaseURLTests {
    let stub = StubConnection { _ in Response(status: .ok) }

    private func sent(_ request: Request, base: String) async throws -> String? {
        _ = try await stub.resolving(against: base).send(request)
        return stub.requests.last?.url?.absoluteString
    }

    @Test(arguments: [
        ("https://api.example.com/v1/", "items", "https://api.example.com/v1/items"),
        ("https://api.example.com/v1/", "items?page=2", "https://api.example.com/v1/items?page=2"),
        ("https://api.example.com/v1/", "items#top", "https://api.example.com/v1/items#top"),
        ("https://api.example.com/v1/", "/items", "https://api.example.com/items"),
        ("https://api.example.com/v1", "items", "https://api.example.com/items"),
        ("https://api.example.com/v1/", "./items", "https://api.example.com/v1/items"),
        ("https://api.example.com/v1/", "../v2/items", "https://api.example.com/v2/items"),
        ("https://api.example.com/v1/", "../../../etc/passwd", "https://api.example.com/etc/passwd"),
        ("https://api.example.com/v1/", "?page=2", "https://api.example.com/v1/?page=2"),
        ("https://api.example.com/v1/?key=1", "#top", "https://api.example.com/v1/?key=1#top"),
        ("https://api.example.com/v1/?key=1#ignored", "items", "https://api.example.com/v1/items?key=1"),
        ("https://api.example.com", "items", "https://api.example.com/items"),
        ("https://api.example.com", "?page=2", "https://api.example.com/?page=2"),
        ("HTTPS://API.example.com:8443/v1/", "Items", "https://api.example.com:8443/v1/Items"),
        ("http://[::1]:8080/", "items", "http://[::1]:8080/items"),
        ("https://api.example.com/v1/", "a%2Fb/%2e%2e", "https://api.example.com/v1/a%2Fb/%2e%2e"),
        ("https://api.example.com/v1/", "r\u{E9}sum\u{E9}", "https://api.example.com/v1/r%C3%A9sum%C3%A9"),
    ])
    func `A reference resolves against the base`(base: String, reference: String, url: String) async throws {
        #expect(try await sent(.get(reference), base: base) == url)
        try stub.requests[0].validate()
    }

    @Test(arguments: ["https://other.example/items?x=1", "http://api.example.com/", "https://api.example.com:8443/v1"])
    func `A request with an absolute URL passes unchanged`(url: String) async throws {
        _ = try await stub.resolving(against: "https://api.example.com/v1/").send(.get(url))
        #expect(stub.requests == [try .get(url)])
    }

    @Test(arguments: [
        "//evil.example/x", "///evil.example", "//user:secret@api.example.com/", "//api.example.com:444/",
        "https://evil.example/", "http://api.example.com/", "file:///etc/passwd", "javascript:alert(1)", "items:12",
        "https:evil.example", "//", "//[::1", "//api.example.com@evil.example/",
    ])
    func `A path that names a server is refused`(path: String) async throws {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        let connection = try stub.resolving(against: "https://api.example.com/v1/")
        let error = try #require(
            await #expect(throws: InvalidRequestError.self) {
                try await connection.send(Request(head: head))
            })
        #expect(stub.requests.isEmpty)
        #expect(!String(reflecting: error).contains("secret"))
    }

    @Test(arguments: [
        "/..//evil.example/x", "..//evil.example", "/\\evil.example", "\\\\evil.example", "@evil.example",
        "/@evil.example",
        "/%2F%2Fevil.example", ".", "..", "/x#y",
    ])
    func `A path of any other shape stays at the origin`(path: String) async throws {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        _ = try await stub.resolving(against: "https://api.example.com/v1/").send(Request(head: head))

        #expect(try Origin(stub.requests[0].head) == Origin("https://api.example.com"))
        try stub.requests[0].validate()
    }

    @Test(arguments: ["/x\r\nHost: evil.example", "/ x", "\0", "/\u{7F}", "\n//evil.example/", "\t", ":80/x"])
    func `An odd path is refused or stays at the origin`(path: String) async throws {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        let connection = try stub.resolving(against: "https://api.example.com/v1/")
        do {
            _ = try await connection.send(Request(head: head))
        } catch {
            #expect(error is InvalidRequestError)
            #expect(stub.requests.isEmpty)
        }
        for request in stub.requests {
            #expect(try Origin(request.head) == Origin("https://api.example.com"))
            try request.validate()
        }
    }

    @Test func `No path of random characters leaves the origin`() async throws {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("/\\:@?#.%[]a \r\n\0\u{E9}evil2F")
        let connection = try stub.resolving(against: "https://api.example.com/v1/")
        let origin = try Origin("https://api.example.com")

        for _ in 0..<2000 {
            let length = Int(generator.next() % 12)
            let path = String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
            _ = try? await connection.send(Request(head: head))
        }

        #expect(stub.requests.count > 500)
        for request in stub.requests {
            #expect(try Origin(request.head) == origin)
            #expect(throws: Never.self) { try request.validate() }
        }
    }

    @Test(arguments: [nil, ""])
    func `A request without a path resolves to the base itself`(path: String?) async throws {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        let base = "https://api.example.com/v1/?a=1"
        #expect(try await sent(Request(head: head), base: base) == base)
    }

    @Test func `An asterisk stays the target of an OPTIONS request`() async throws {
        let connection = try stub.resolving(against: "https://api.example.com/v1/")
        for method in [HTTPRequest.Method.options, .get] {
            let head = HTTPRequest(method: method, scheme: nil, authority: nil, path: "*")
            _ = try await connection.send(Request(head: head))
        }
        #expect(stub.requests.map(\.head.path) == ["*", "/v1/*"])
    }

    @Test func `All other parts of the request stay`() async throws {
        var request = try Request.post("items", fields: [.accept: "a"], body: "content")
        request.options.routeName = "items"
        _ = try await stub.resolving(against: "https://api.example.com/").send(request)

        #expect(stub.requests == [try .post("https://api.example.com/items", fields: [.accept: "a"], body: "content")])
        #expect(stub.requests[0].options.routeName == "items")
    }

    @Test(arguments: [
        ("", InvalidRequestError.Reason.missingOrigin),
        ("api.example.com", .missingOrigin),
        ("/v1/", .missingOrigin),
        ("//api.example.com/", .missingOrigin),
        ("ftp://api.example.com/", .unsupportedScheme),
        ("mailto:someone@example.com", .unsupportedScheme),
        ("localhost:8080/v1/", .unsupportedScheme),
        ("https:///v1", .invalidHost),
        ("https://user:secret@api.example.com/", .userinfo),
        ("https://api.example.com:99999/", .invalidPort),
        ("https://api.example.com/a b", .invalidURL),
        ("https://api.example.com/\r\nX: 1", .invalidURL),
        ("https://api.example.com/\0", .invalidURL),
    ])
    func `An invalid base is refused at composition`(base: String, reason: InvalidRequestError.Reason) throws {
        let error = try #require(throws: InvalidRequestError.self) { _ = try stub.resolving(against: base) }
        #expect(error.reason == reason)
        #expect(!String(reflecting: error).contains("secret"))
    }

    @Test func `The layer shows the base without its query`() throws {
        let layer = try stub.resolving(against: "https://api.example.com/v1/?key=secret").layers[0]
        #expect(layer.description == "resolving(against: https://api.example.com/v1/)")
        #expect(layer.role == .preparation)
    }

    @Test func `The layer shows no secret of the path`() throws {
        let token = "123456789:AAFhVbH2kqZ9x0tYw3RmL7nPsQ4uE6oJc1d"
        let layer = try stub.resolving(against: "https://api.telegram.org/bot\(token)/").layers[0]
        #expect(!layer.description.contains(token))
        #expect(layer.description.contains("api.telegram.org"))
    }
}
