import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A refresh whose requests pass the layer that waits for it.
@Suite(.timeLimit(.minutes(1))) struct RefreshRecursionTests {
    private let clock = VirtualClock()

    /// Sends its refresh through a stack that is given later.
    private final class CircularSource: TokenSource {
        let connection = Mutex<(any Connection)?>(nil)
        let skips: Bool

        init(skips: Bool) { self.skips = skips }

        var layers: [Layer] { [] }

        func token(replacing token: Token?) async throws -> Token {
            var request = try Request.post("https://api.example.com/token", body: "")
            request.options.skipsAuthentication = skips
            let connection = connection.withLock { $0 }
            _ = try await connection?.send(request)
            return try Token("new", refreshToken: "next")
        }
    }

    private func connection(skips: Bool) throws -> (any Connection, StubConnection) {
        let source = CircularSource(skips: skips)
        let old = try Token("old", expiry: clock.date - 1, refreshToken: "refresh")
        let tokens = Tokens(in: MemoryTokenStore(old), from: source, clock: clock)
        let api = StubConnection { _ in Response(status: .ok) }
        let connection = api.authenticating(with: tokens, for: try .api())
        source.connection.withLock { $0 = connection }
        return (connection, api)
    }

    @Test func `A refresh through its own layer fails with an error that says so`() async throws {
        let (connection, api) = try connection(skips: false)
        let error = try await #require(throws: TokenRefreshError.self) {
            try await connection.send(.get("https://api.example.com/"))
        }
        #expect(error.underlying is RefreshRecursionError)
        #expect(!error.mayPass && error.description.contains("Give the source a stack of its own"))
        #expect(api.requests.isEmpty)
    }

    @Test func `A refresh that skips authentication passes its own layer`() async throws {
        let (connection, api) = try connection(skips: true)
        #expect(try await connection.send(.get("https://api.example.com/")).status == .ok)
        #expect(api.requests.map { $0.head.headerFields[.authorization] } == [nil, "Bearer new"])
    }
}
