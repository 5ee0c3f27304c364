import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// An authorization server in memory: it rotates refresh tokens, and ends the session when one of them is used twice.
final class RotatingServer: TokenSource {
    struct State {
        var issued = 1
        var refreshes = 0
        var reuses = 0
        var isEnded = false
        var failures: [any Error & Sendable] = []
        var replaced: [Token?] = []
    }

    static let apiURL = "https://api.example.com/notes"

    let lifetime: TimeInterval
    let clock: any DatedClock
    /// Opened by the test where a refresh is to wait.
    let gate: Gate?
    private let state = Mutex(State())

    init(lifetime: TimeInterval = 3600, clock: any DatedClock, gate: Gate? = nil) {
        self.lifetime = lifetime
        self.clock = clock
        self.gate = gate
    }

    var layers: [Layer] { [Layer(name: "RotatingServer", role: .transport)] }
    var facts: State { state.withLock { $0 } }

    /// The token with a number, valid from now on.
    func token(_ number: Int, expiry: Date? = nil) throws -> Token {
        try Token(
            "access-\(number)", expiry: expiry ?? clock.date + lifetime, refreshToken: "refresh-\(number)")
    }

    func fail(with errors: any Error & Sendable...) { state.withLock { $0.failures += errors } }

    /// Makes all tokens invalid that were given so far, without a new one, as a restart of a server does.
    func skip() { state.withLock { $0.issued += 1 } }

    func token(replacing token: Token?) async throws -> Token {
        state.withLock { state in
            state.refreshes += 1
            state.replaced.append(token)
        }
        try await gate?.wait()
        let number = try state.withLock { state in
            if !state.failures.isEmpty { throw state.failures.removeFirst() }
            guard !state.isEnded, token?.refreshToken == "refresh-\(state.issued)" else {
                state.reuses += 1
                state.isEnded = true
                throw OAuthError(.invalidGrant, status: .badRequest)
            }
            state.issued += 1
            return state.issued
        }
        return try self.token(number)
    }

    /// An API that accepts only the newest access token.
    var api: StubConnection {
        StubConnection { [self] request in
            let newest = state.withLock { $0.issued }
            guard request.head.headerFields[.authorization] == "Bearer access-\(newest)" else {
                return Response(status: .unauthorized, fields: [.wwwAuthenticate: Self.invalidToken], body: "expired")
            }
            return Response(status: .ok, body: "notes")
        }
    }

    static let invalidToken = #"Bearer realm="notes", error="invalid_token""#
}

extension Origin {
    static func api() throws -> Origin { try Origin("https://api.example.com") }
}
