import Decorum
import DecorumTesting
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(2))) struct DecidingOriginTests {
    private let stub = StubConnection { request in
        request.head.path == "/old"
            ? Response(status: .found, fields: [.location: "https://api.example.com/new"]) : Response(status: .ok)
    }

    private func sent() -> [String] { stub.requests.map { "\($0.head.authority ?? "")\($0.head.path ?? "")" } }

    @Test func `A closure decides about the first request and each hop, but not about one that keeps its origin`()
        async throws
    {
        let mirror = try Origin("https://mirror.example.com:8443")
        let connection = stub.decidingOrigin { $0.head.authority == "api.example.com" ? mirror : nil }
            .followingRedirects()
        _ = try await connection.send(.get("https://api.example.com/old"))
        _ = try await connection.send(.get("https://other.example.com/"))
        var kept = try Request.get("https://api.example.com/kept")
        kept.options.keepsOrigin = true
        _ = try await connection.send(kept)
        #expect(
            sent() == [
                "mirror.example.com:8443/old", "mirror.example.com:8443/new", "other.example.com/",
                "api.example.com/kept",
            ])
    }

    @Test func `Credentials belong to the origin that is chosen, on each hop`() async throws {
        let mirror = try Origin("https://mirror.example.com")
        let connection = stub.authenticating(with: try .bearer("abc"), for: mirror)
            .decidingOrigin { $0.head.authority == "api.example.com" ? mirror : nil }
            .followingRedirects()
        _ = try await connection.send(.get("https://api.example.com/old"))
        _ = try await connection.send(.get("https://other.example.com/"))
        #expect(stub.requests.map { $0.head.headerFields[.authorization] } == ["Bearer abc", "Bearer abc", nil])
    }

    @Test func `An origin that was asked in place of another one gets no credentials of it by a redirection`()
        async throws
    {
        let (api, mirror) = (try Origin("https://api.example.com"), try Origin("https://mirror.example.com"))
        let connection = stub.authenticating(with: try .bearer("abc"), for: api)
            .decidingOrigin { $0.head.path == "/old" ? mirror : nil }
            .followingRedirects()
        _ = try await connection.send(.get("https://api.example.com/old"))
        #expect(sent() == ["mirror.example.com/old", "api.example.com/new"])
        #expect(stub.requests.allSatisfy { $0.head.headerFields[.authorization] == nil })
    }

    @Test(arguments: [(false, nil), (true, "api.example.com")])
    func `The former host may be kept, unless the request has its own`(keeps: Bool, host: String?) async throws {
        let mirror = try Origin("https://mirror.example.com")
        let name = try #require(HTTPField.Name("Host"))
        let connection = stub.decidingOrigin(keepingHost: keeps) { _ in mirror }
        _ = try await connection.send(.get("https://api.example.com/"))
        _ = try await connection.send(.get("https://api.example.com/", fields: [name: "own.example"]))
        #expect(stub.requests.map { $0.head.headerFields[name] } == [host, "own.example"])
    }

    @Test func `An error of the closure refuses the request`() async throws {
        let connection = stub.decidingOrigin { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await connection.send(.get("https://api.example.com/")) }
        #expect(stub.requests.isEmpty)
    }

    @Test func `The former host arrives over a socket`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(LoopbackOrigin.Answer(.ok))
        let server = try Origin(origin.url)
        let connection = SystemConnection().decidingOrigin(keepingHost: true) { _ in server }
        #expect(try await connection.send(.get("http://api.example.com/")).status == .ok)
        #expect(origin.requests.first?.fields["Host"] == "api.example.com")
    }
}
