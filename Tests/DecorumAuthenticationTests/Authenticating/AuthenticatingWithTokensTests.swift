import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct AuthenticatingWithTokensTests {
    private let clock = VirtualClock()
    private let spawner = TrackingSpawner()
    private let server: RotatingServer
    private let tokens: Tokens

    init() throws {
        server = RotatingServer(clock: clock)
        tokens = Tokens(
            in: MemoryTokenStore(try server.token(1)), from: server, clock: clock,
            generator: SeededGenerator(seed: 1), spawner: spawner)
    }

    private func refusing(_ challenges: String..., status: HTTPResponse.Status = .unauthorized) -> StubConnection {
        var fields = HTTPFields()
        for challenge in challenges { fields.append(HTTPField(name: .wwwAuthenticate, value: challenge)) }
        return StubConnection { [fields] _ in Response(status: status, fields: fields, body: "why") }
    }

    @Test func `A rejected token is replaced once, and the request sent again`() async throws {
        server.skip()
        let tokens = Tokens(
            in: MemoryTokenStore(try Token("stale", refreshToken: "refresh-2")), from: server, clock: clock)
        let api = server.api
        let connection = api.authenticating(with: tokens, for: try .api())
        var request = try Request.post(RotatingServer.apiURL, body: "order")
        let call = CallContext(keepingHistory: 10)
        request.options.callContext = call
        let response = try await connection.send(request)
        #expect(response.status == .ok && response.metadata.attempts == 2)
        #expect(!response.metadata.refusesCredentials)
        #expect(api.requests.map { $0.head.headerFields[.authorization] } == ["Bearer stale", "Bearer access-3"])
        #expect(api.requests.map(\.body) == ["order", "order"])
        #expect(api.requests.allSatisfy { $0.options.secretFields.contains(.authorization) })
        #expect(
            call.history.filter { $0.layer == "authenticating" }.map(\.description) == [
                "authenticating: the server has rejected the token, and there is a new one"
            ])
    }

    @Test func `A second 401 is returned with its body, and the next call does not refresh again`() async throws {
        let api = refusing(RotatingServer.invalidToken)
        let connection = api.authenticating(with: tokens, for: try .api())
        for _ in 0..<5 {
            let response = try await connection.send(.get(RotatingServer.apiURL))
            #expect(response.status == .unauthorized && response.metadata.refusesCredentials)
            #expect(try await response.body.text(upTo: 10) == "why")
        }
        #expect(server.facts.refreshes == 1)
        #expect(api.requests.count == 6)
    }

    @Test(arguments: [
        [], ["Bearer"], [#"Bearer error="insufficient_scope""#], [#"Basic realm="a""#],
        [#"Basic error="invalid_token""#],
        [#"DPoP error="invalid_token""#], [#"Bearer error="invalid_token", error="x""#],
        ["Bearer error=\"invalid_token"],
    ])
    func `A 401 that is not about the token is returned at once`(challenges: [String]) async throws {
        var fields = HTTPFields()
        for challenge in challenges { fields.append(HTTPField(name: .wwwAuthenticate, value: challenge)) }
        let api = StubConnection { [fields] _ in Response(status: .unauthorized, fields: fields, body: "why") }
        let response = try await api.authenticating(with: tokens, for: .api()).send(.get(RotatingServer.apiURL))
        #expect(response.status == .unauthorized)
        #expect(try await response.body.text(upTo: 10) == "why")
        #expect(server.facts.refreshes == 0 && api.requests.count == 1)
    }

    @Test(arguments: [HTTPResponse.Status.forbidden, .ok, .proxyAuthenticationRequired])
    func `Other statuses start no refresh`(status: HTTPResponse.Status) async throws {
        let api = refusing(RotatingServer.invalidToken, status: status)
        let response = try await api.authenticating(with: tokens, for: .api()).send(.get(RotatingServer.apiURL))
        #expect(response.status == status && server.facts.refreshes == 0)
    }

    @Test func `The challenge may be one of several, in one or many fields`() async throws {
        for fields in [
            ["Basic realm=\"a, Bearer\", Bearer error=invalid_token"], ["Negotiate", RotatingServer.invalidToken],
        ] {
            let server = RotatingServer(clock: clock)
            let tokens = Tokens(in: MemoryTokenStore(try server.token(1)), from: server, clock: clock)
            let answer = HTTPFields(fields.map { HTTPField(name: .wwwAuthenticate, value: $0) })
            let api = StubConnection(
                Response(status: .unauthorized, fields: answer), Response(status: .ok))
            #expect(
                try await api.authenticating(with: tokens, for: .api()).send(.get(RotatingServer.apiURL)).status == .ok)
            #expect(server.facts.refreshes == 1)
        }
    }

    @Test func `A body that is read once is not sent again, and the next call has a new token`() async throws {
        let api = server.api
        server.skip()
        let tokens = Tokens(
            in: MemoryTokenStore(try Token("stale", refreshToken: "refresh-2")), from: server, clock: clock,
            spawner: spawner)
        let connection = api.authenticating(with: tokens, for: try .api())
        let chunks = AsyncStream {
            $0.yield(Data("x".utf8))
            $0.finish()
        }
        let refused = try await connection.send(.post(RotatingServer.apiURL, body: Body(chunks: chunks)))
        #expect(refused.status == .unauthorized && api.requests.count == 1)
        #expect(try await refused.body.text(upTo: 10) == "expired")
        try await spawner.finished()
        let response = try await connection.send(.post(RotatingServer.apiURL, body: "y"))
        #expect(response.status == .ok && api.requests.count == 2 && server.facts.refreshes == 1)
    }

    @Test(arguments: [
        "http://api.example.com/", "https://api.example.com:8443/", "https://example.com/",
        "https://a.api.example.com/",
        "https://api.example.com.evil.example/", "https://API.example.org/",
    ])
    func `Another origin gets no token, and its 401 starts no refresh`(url: String) async throws {
        let api = refusing(RotatingServer.invalidToken)
        let response = try await api.authenticating(with: tokens, for: .api()).send(.get(url))
        #expect(api.requests.first?.head.headerFields[.authorization] == nil)
        #expect(response.metadata.lacksCredentials && server.facts.refreshes == 0 && api.requests.count == 1)
    }

    @Test func `A redirection takes the token nowhere else, and not back either`() async throws {
        let api = StubConnection { request in
            switch (request.head.authority, request.head.path) {
            case ("api.example.com", "/away"): Response(status: .found, fields: [.location: "https://evil.example/"])
            case ("evil.example", _): Response(status: .found, fields: [.location: "https://api.example.com/back"])
            case (_, "/moved"): Response(status: .found, fields: [.location: "/here"])
            default: Response(status: .ok)
            }
        }
        let connection = api.authenticating(with: tokens, for: try .api()).followingRedirects()
        _ = try await connection.send(.get("https://api.example.com/away"))
        #expect(api.requests.map { $0.head.headerFields[.authorization] } == ["Bearer access-1", nil, nil])
        _ = try await connection.send(.get("https://api.example.com/moved"))
        #expect(api.requests.suffix(2).allSatisfy { $0.head.headerFields[.authorization] == "Bearer access-1" })
    }

    @Test func `A request with its own credentials or the option passes as it is`() async throws {
        let api = refusing(RotatingServer.invalidToken)
        let connection = api.authenticating(with: tokens, for: try .api())
        var own = try Request.get(RotatingServer.apiURL)
        own.head.headerFields[.authorization] = "Basic own"
        _ = try await connection.send(own)
        var skipping = try Request.get(RotatingServer.apiURL)
        skipping.options.skipsAuthentication = true
        _ = try await connection.send(skipping)
        #expect(api.requests.map { $0.head.headerFields[.authorization] } == ["Basic own", nil])
        #expect(server.facts.refreshes == 0)
    }

    @Test func `Without a token nothing is sent`() async throws {
        let api = server.api
        let tokens = Tokens(in: MemoryTokenStore(), from: server, clock: clock)
        let connection = api.authenticating(with: tokens, for: try .api()).retrying(clock: clock)
        await #expect(throws: SignedOutError(.noToken)) { try await connection.send(.get(RotatingServer.apiURL)) }
        #expect(api.requests.isEmpty)
    }

    @Test func `A refresh that fails for now is tried again by the layer outside, with any method`() async throws {
        let api = server.api
        server.fail(with: OAuthError(answering: .init(status: .serviceUnavailable)))
        let tokens = Tokens(
            in: MemoryTokenStore(try server.token(1, expiry: clock.date - 1)), from: server, clock: clock)
        let connection = api.authenticating(with: tokens, for: try .api()).retrying(clock: clock)
        let call = Task { try await connection.send(.post(RotatingServer.apiURL, body: "x")) }
        // The pause after the failure is a second at most, and the retry spreads its end over a second. The limit of
        // a refresh, which is on the clock too, is 30 seconds.
        try await yield { clock.pendingSleeps.contains { $0 <= .seconds(2) } }
        clock.advance(by: .seconds(2))
        #expect(try await call.joinedValue.status == .ok)
        #expect(server.facts.refreshes == 2 && api.requests.count == 1)
    }

    @Test func `An answer to a user who has signed out is not delivered`() async throws {
        let gate = Gate()
        let api = StubConnection { _ in
            try await gate.wait()
            return Response(status: .ok, body: "private")
        }
        let connection = api.authenticating(with: tokens, for: try .api())
        let call = Task { try await connection.send(.get(RotatingServer.apiURL)) }
        try await gate.waitForWaiting(1)
        try await tokens.signOut()
        gate.open()
        await #expect(throws: SignedOutError(.signedOut)) { try await call.value }
    }

    @Test func `A rejected request of one user is not sent with the token of another`() async throws {
        let gate = Gate()
        let api = StubConnection { _ in
            try await gate.wait()
            return Response(status: .unauthorized, fields: [.wwwAuthenticate: RotatingServer.invalidToken])
        }
        let connection = api.authenticating(with: tokens, for: try .api())
        let call = Task { try await connection.send(.get(RotatingServer.apiURL)) }
        try await gate.waitForWaiting(1)
        try await tokens.signIn(with: Token("other-user"))
        gate.open()
        await #expect(throws: SignedOutError(.signedOut)) { try await call.value }
        #expect(api.requests.count == 1)
    }

    @Test func `A 401 from a store starts no refresh`() async throws {
        let api = StubConnection { _ in
            var response = Response(status: .unauthorized, fields: [.wwwAuthenticate: RotatingServer.invalidToken])
            response.metadata.source = .cache
            return response
        }
        _ = try await api.authenticating(with: tokens, for: .api()).send(.get(RotatingServer.apiURL))
        #expect(server.facts.refreshes == 0)
    }

    @Test func `The layer shows its stack for refreshes, its state and its secret field`() throws {
        let connection = server.api.authenticating(with: tokens, for: try .api())
        let layer = try #require(connection.layers.first)
        #expect("\(layer)" == "authenticating(with: tokens, for: https://api.example.com) {refresh: [RotatingServer]}")
        #expect(layer.branches.map(\.carriesRequests) == [false])
        #expect(layer.secretFields == [.authorization] && layer.sends == 1...2 && layer.facts.contains(.waits))
        #expect(layer.facts.isSuperset(of: [.addsCredentials, .bindsToOrigins, .changesUsers]))
        let other = server.api.authenticating(with: tokens, for: try .api())
        #expect(other.layers.first?.sharedState == layer.sharedState)
    }
}
