import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// Which requests get credentials, and which do not (RFC 9110, section 11; RFC 6454, section 5).
@Suite struct AuthenticationTests {
    let stub = StubConnection { _ in Response(status: .ok) }

    private func authorization(
        of url: String, fields: HTTPFields = [:], bound origins: String...
    ) async throws -> [String] {
        let connection = stub.authenticating(
            with: try .bearer("abc"), for: Set(try origins.map { try Origin($0) }))
        _ = try await connection.send(.get(url, fields: fields))
        return try #require(stub.requests.last).head.headerFields[values: .authorization]
    }

    @Test(arguments: [
        ("http://api.example.com", true), ("http://192.0.2.1:8080", true), ("http://127.0.0.1.example", true),
        ("http://127.1.1.256", true), ("http://localhost.example", true), ("http://localhost:8080", false),
        ("http://app.localhost", false), ("http://127.8.0.1", false), ("http://[::1]", false),
        ("https://api.example.com", false),
    ])
    func `Credentials over http to another machine are refused, unless they are allowed`(
        origin: String, isRefused: Bool
    ) async throws {
        let connection = stub.authenticating(with: try .bearer("abc"), for: try Origin(origin))
        let request = try Request.get(origin + "/")
        if isRefused {
            let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
            #expect(error?.reason == .unencryptedCredentials && stub.requests.isEmpty)
        } else {
            _ = try await connection.send(request)
        }
        _ = try await connection.allowingUnencryptedCredentials().send(request)
        #expect(stub.requests.allSatisfy { $0.head.headerFields[.authorization] == "Bearer abc" })
        #expect(stub.requests.count == (isRefused ? 1 : 2))
    }

    @Test(arguments: [
        ("https://api.example.com", "https://api.example.com/items"),
        ("https://api.example.com", "https://API.Example.COM/items"),
        ("https://API.EXAMPLE.com", "https://api.example.com/items"),
        ("https://api.example.com", "https://api.example.com:443/items"),
        ("https://api.example.com:443/", "https://api.example.com/"),
        ("https://api.example.com:8443", "https://api.example.com:8443/"),
        ("http://localhost:8080", "http://localhost:8080/"),
        ("http://127.0.0.1", "http://127.0.0.1:80/"),
        ("https://[::1]:8443", "https://[::1]:8443/"),
    ])
    func `A request to the origin gets the credentials`(origin: String, url: String) async throws {
        #expect(try await authorization(of: url, bound: origin) == ["Bearer abc"])
    }

    @Test(arguments: [
        ("https://api.example.com", "http://api.example.com/"),
        ("http://api.example.com", "https://api.example.com/"),
        ("https://api.example.com", "http://api.example.com:443/"),
        ("https://api.example.com", "https://api.example.com:8443/"),
        ("https://api.example.com:8443", "https://api.example.com/"),
        ("https://example.com", "https://api.example.com/"),
        ("https://api.example.com", "https://example.com/"),
        ("https://api.example.com", "https://v2.api.example.com/"),
        ("https://api.example.com", "https://api.example.com.evil.example/"),
        ("https://api.example.com", "https://api.example.com./"),
        ("https://api.example.com", "https://evil.example/https://api.example.com/"),
        ("http://localhost", "http://127.0.0.1/"),
        ("https://[::1]", "https://[::2]/"),
    ])
    func `A request to another origin passes unchanged`(origin: String, url: String) async throws {
        #expect(try await authorization(of: url, bound: origin) == [])
        #expect(stub.requests == [try .get(url)])
    }

    @Test func `Credentials without an origin are never sent`() async throws {
        let connection = stub.authenticating(with: try .bearer("abc"), for: [])
        _ = try await connection.send(.get("https://api.example.com/"))
        #expect(stub.requests.map { $0.head.headerFields[.authorization] } == [nil])
    }

    @Test(arguments: [
        HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/items"),
        HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/items"),
        HTTPRequest(method: .get, scheme: nil, authority: "api.example.com", path: "/items"),
        HTTPRequest(method: .get, scheme: "https", authority: "user@api.example.com", path: "/items"),
        HTTPRequest(method: .get, scheme: "ftp", authority: "api.example.com", path: "/items"),
        HTTPRequest(method: .get, scheme: "https", authority: "api.example.com:443x", path: "/items"),
    ])
    func `A request without a proper origin passes unchanged`(head: HTTPRequest) async throws {
        let connection = stub.authenticating(with: try .bearer("abc"), for: try Origin("https://api.example.com"))
        _ = try await connection.send(Request(head: head))
        #expect(stub.requests == [Request(head: head)])
    }

    @Test func `A Host field does not decide where credentials are sent`() async throws {
        let host = try #require(HTTPField.Name("Host"))
        let spoofed = try await authorization(
            of: "https://evil.example/", fields: [host: "api.example.com"], bound: "https://api.example.com")
        #expect(spoofed == [])
    }

    @Test(arguments: ["Basic b3du", ""])
    func `A request's own Authorization stays`(own: String) async throws {
        let sent = try await authorization(
            of: "https://api.example.com/", fields: [.authorization: own], bound: "https://api.example.com")
        #expect(sent == [own])
        #expect(stub.requests[0].options.secretFields == [.authorization])
    }

    @Test func `A request that skips authentication passes unchanged`() async throws {
        var request = try Request.get("https://api.example.com/")
        request.options.skipsAuthentication = true
        let connection = stub.authenticating(with: try .bearer("abc"), for: try Origin("https://api.example.com"))

        _ = try await connection.send(request)
        request.options.skipsAuthentication = false
        _ = try await connection.send(request)

        #expect(stub.requests.map { $0.head.headerFields[.authorization] } == [nil, "Bearer abc"])
        #expect(!RequestOptions().skipsAuthentication)
    }

    @Test func `Two layers each serve their own origin`() async throws {
        let connection =
            stub
            .authenticating(with: try .bearer("one"), for: try Origin("https://one.example"))
            .authenticating(with: try .basic(user: "a", password: "b"), for: try Origin("https://two.example"))

        _ = try await connection.send(.get("https://one.example/"))
        _ = try await connection.send(.get("https://two.example/"))

        #expect(stub.requests.map { $0.head.headerFields[.authorization] } == ["Bearer one", "Basic YTpi"])
    }

    @Test func `Everything else of a request and its response stays`() async throws {
        let stub = StubConnection { _ in Response(status: .unauthorized, fields: [.server: "x"], body: "no") }
        let connection = stub.authenticating(with: try .bearer("abc"), for: try Origin("https://api.example.com"))
        var request = try Request.post("https://api.example.com/", body: "content")
        request.head.headerFields[values: .accept] = ["a", "b"]
        request.options.routeName = "items"
        request.options.secretFields = [.cookie]

        let response = try await connection.send(request)

        request.head.headerFields[.authorization] = "Bearer abc"
        #expect(stub.requests == [request])
        #expect(stub.requests[0].options.routeName == "items")
        #expect(stub.requests[0].options.secretFields == [.cookie, .authorization])
        #expect(response.status == .unauthorized)
        #expect(response.head.headerFields == [.server: "x"])
        #expect(try await response.body.text(upTo: 10) == "no")
    }

    @Test func `The layer declares its facts and its secret fields`() throws {
        let name = try #require(HTTPField.Name("X-API-Key"))
        let connection = stub.authenticating(
            with: try .field(name, "secret"), for: try Origin("https://b.example"), try Origin("https://A.example:443"))

        let layer = try #require(connection.layers.first)
        #expect(layer.description == "authenticating(with: field, for: https://a.example, https://b.example)")
        #expect(layer.role == .authentication)
        #expect(layer.facts == [.addsCredentials, .bindsToOrigins])
        #expect(layer.secretFields == [name])
        #expect(connection.layers.count == 2)
    }
}
