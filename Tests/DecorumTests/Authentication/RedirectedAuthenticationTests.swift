import Decorum
import DecorumTesting
import Testing

/// Credentials along redirections, with the layer that adds them inside of the layer that follows.
@Suite struct RedirectedAuthenticationTests {
    private static let bearer: String? = "Bearer abc"

    @Test(arguments: [
        // Within one origin each request carries the credentials.
        ("aaa", "a", [bearer, bearer, bearer]),
        // Another origin gets none, and a redirection back restores none.
        ("abaa", "a", [bearer, nil, nil, nil]),
        // An origin without credentials cannot cause a request with them.
        ("ba", "a", [nil, nil]),
        // Origins that share the credentials keep them.
        ("aba", "ab", [bearer, bearer, bearer]),
    ])
    func `Credentials follow only redirections of their origins`(
        row: (hosts: String, bound: String, sent: [String?])
    ) async throws {
        let urls = row.hosts.enumerated().map { "https://\($1).example/\($0)" }
        let redirections = urls.dropFirst().map { Response(status: .found, fields: [.location: $0]) }
        let stub = StubConnection(
            answers: (redirections + [Response(status: .ok)]).map { response in { _ in response } })
        let connection =
            stub
            .authenticating(
                with: try .bearer("abc"), for: Set(try row.bound.map { try Origin("https://\($0).example") })
            )
            .followingRedirects()
        _ = try await connection.send(.get(urls[0]))
        #expect(stub.requests.map { $0.head.headerFields[.authorization] } == row.sent)
    }
}
