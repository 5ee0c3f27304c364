import Decorum
import DecorumTesting
import Testing

/// Credentials along redirections, with the layer that adds them inside of the layer that follows.
@Suite struct RedirectedAuthenticationTests {
    private func authorizations(along urls: String..., bound origins: String...) async throws -> [String?] {
        let redirections = urls.dropFirst().map { Response(status: .found, fields: [.location: $0]) }
        let stub = StubConnection(
            answers: (redirections + [Response(status: .ok)]).map { response in { _ in response } })
        let connection =
            stub
            .authenticating(with: try .bearer("abc"), for: Set(try origins.map { try Origin($0) }))
            .followingRedirects()
        _ = try await connection.send(.get(urls[0]))
        return stub.requests.map { $0.head.headerFields[.authorization] }
    }

    @Test func `Within one origin every request carries the credentials`() async throws {
        let sent = try await authorizations(
            along: "https://a.example/1", "https://a.example/2", "https://a.example/3", bound: "https://a.example")
        #expect(sent == ["Bearer abc", "Bearer abc", "Bearer abc"])
    }

    @Test func `Another origin gets no credentials, and a redirection back restores none`() async throws {
        let sent = try await authorizations(
            along: "https://a.example/1", "https://b.example/2", "https://a.example/3", "https://a.example/4",
            bound: "https://a.example")
        #expect(sent == ["Bearer abc", nil, nil, nil])
    }

    @Test func `An origin without credentials cannot cause a request with them`() async throws {
        let sent = try await authorizations(
            along: "https://b.example/1", "https://a.example/2", bound: "https://a.example")
        #expect(sent == [nil, nil])
    }

    @Test func `A redirection between origins that share the credentials keeps them`() async throws {
        let sent = try await authorizations(
            along: "https://a.example/1", "https://b.example/2", "https://a.example/3",
            bound: "https://a.example", "https://b.example")
        #expect(sent == ["Bearer abc", "Bearer abc", "Bearer abc"])
    }
}
