import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumAuthentication

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

    private func refusing(_ challenge: String) -> StubConnection {
        StubConnection { _ in
            Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge], body: "why")
        }
    }

    /// Tokens whose token the server no longer accepts.
    private func staleTokens() throws -> Tokens {
        server.skip()
        let stale = try Token("stale", refreshToken: "refresh-2")
        return Tokens(in: MemoryTokenStore(stale), from: server, clock: clock, spawner: spawner)
    }

    @Test func `A rejected token is replaced once, and the request sent again`() async throws {
        let tokens = try staleTokens()
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

    /// The parts of a 401 that a challenge can tell.
    enum Subject { case token, nothing, other }

    @Test(arguments: [
        ([], Subject.nothing), (["Bearer"], .nothing), (["bearer realm=\"a\""], .nothing),
        (["Basic realm=\"a\", Bearer"], .nothing),
        // Nothing in these can be read.
        ([""], .nothing), (["Bearer error=\"invalid_token"], .nothing),
        ([RotatingServer.invalidToken], .token), (["Negotiate", RotatingServer.invalidToken], .token),
        (["Basic realm=\"a, Bearer\", Bearer error=invalid_token"], .token),
        ([#"Bearer error="insufficient_scope", Bearer error="invalid_token""#], .token),
        ([#"Bearer error="insufficient_scope""#], .other), (["Bearer error=invalid_request"], .other),
        ([#"Bearer error="invalid_token", error="x""#], .other), ([#"Basic realm="a""#], .other),
        ([#"Basic error="invalid_token""#], .other), ([#"DPoP error="invalid_token""#], .other),
        (["Basic realm=\"a\", Bearer error=\"insufficient_scope\""], .other),
    ])
    func `A 401 is about the token unless its challenge says otherwise`(
        row: (challenges: [String], subject: Subject)
    ) throws {
        let fields = HTTPFields(row.challenges.map { HTTPField(name: .wwwAuthenticate, value: $0) })
        func verdict(
            _ status: HTTPResponse.Status = .unauthorized, _ source: ResponseMetadata.Source? = .network,
            type: String = "Bearer", canReplace: Bool = true, canResend: Bool = true
        ) throws -> TokenVerdict {
            TokenVerdict(
                on: HTTPResponse(status: status, headerFields: fields), from: source, to: try Token("t", type: type),
                canReplace: canReplace, canResend: canResend)
        }
        #expect(try verdict() == (row.subject == .other ? .delivers : .resends))
        #expect(try verdict(canResend: false) == (row.subject == .other ? .delivers : .replaces))
        // A user is not signed out by a 401 that says nothing about a token that cannot be replaced.
        #expect(try verdict(canReplace: false) == (row.subject == .token ? .resends : .delivers))
        #expect(try verdict(.unauthorized, .cache) == .delivers)
        for status in [HTTPResponse.Status.ok, .forbidden, .proxyAuthenticationRequired] {
            #expect(try verdict(status) == .delivers)
        }
        // A token of another type has a scheme of its own.
        let isOwn = row.challenges == [#"DPoP error="invalid_token""#]
        if row.subject == .other { #expect(try verdict(type: "DPoP") == (isOwn ? .resends : .delivers)) }
    }

    @Test func `A 401 without a challenge replaces the token once for all callers, whatever their methods`()
        async throws
    {
        let tokens = try staleTokens()
        let gate = Gate()
        let api = StubConnection { request in
            if request.head.headerFields[.authorization] == "Bearer access-3" { return Response(status: .ok) }
            try await gate.wait()
            return Response(status: .unauthorized, body: #"{"message":"Unauthenticated."}"#)
        }
        let connection = api.authenticating(with: tokens, for: try .api())
        let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete]
        let calls = methods.map { method in
            Task { try await connection.send(Request(method, RotatingServer.apiURL)).status }
        }
        try await gate.waitForWaiting(methods.count)
        gate.open()
        for call in calls { #expect(try await call.value == .ok) }
        #expect(server.facts.refreshes == 1 && api.requests.count == 2 * methods.count)
    }

    @Test func `A 401 that is not about the token is returned at once`() async throws {
        let api = refusing(#"Basic realm="a""#)
        let response = try await api.authenticating(with: tokens, for: .api()).send(.get(RotatingServer.apiURL))
        #expect(response.status == .unauthorized)
        #expect(try await response.body.text(upTo: 10) == "why")
        #expect(server.facts.refreshes == 0 && api.requests.count == 1)
    }

    @Test func `A 401 to a new token is answered with that of another process, where there is one`() async throws {
        let store = FailingStore(try server.token(1, expiry: clock.date - 1))
        let tokens = Tokens(in: store, from: server, clock: clock)
        #expect(try await tokens.token().accessToken == "access-2")
        // Another process has refreshed since, which has ended the token of this one.
        server.skip()
        let api = server.api
        let connection = api.authenticating(with: tokens, for: try .api())
        // While the store does not tell, the 401 is returned, and the source is not asked.
        for failsReading in [false, true] {
            store.failsReading = failsReading
            #expect(try await connection.send(.get(RotatingServer.apiURL)).status == .unauthorized)
        }
        store.failsReading = false
        let held = try await store.token()
        #expect(try await store.replace(held, with: server.token(3).completed(by: held)))
        #expect(try await connection.send(.get(RotatingServer.apiURL)).status == .ok)
        #expect(
            api.requests.map { $0.head.headerFields[.authorization] }
                == Array(repeating: "Bearer access-2", count: 3) + ["Bearer access-3"])
        #expect(server.facts.refreshes == 1 && server.facts.reuses == 0)
    }

    @Test(arguments: [false, true])
    func `A later attempt of a call is not sent with the token of another user`(isUnderWay: Bool) async throws {
        let gate = Gate()
        let api = StubConnection { request in
            guard request.head.headerFields[.authorization] == "Bearer access-1" else { return Response(status: .ok) }
            guard isUnderWay else { return Response(status: .serviceUnavailable) }
            try await gate.wait()
            throw TransportError(.connectionLost, at: .head)
        }
        let connection = api.authenticating(with: tokens, for: try .api()).retrying(clock: clock)
        let call = Task { try await connection.send(.get(RotatingServer.apiURL)) }
        if isUnderWay { try await gate.waitForWaiting(1) } else { try await clock.waitForSleepers() }
        try await tokens.signIn(with: Token("other-user"))
        gate.open()
        clock.advance(by: .seconds(60))
        await #expect(throws: SignedOutError(.signedOut)) { try await call.value }
        #expect(api.requests.count == 1)
    }

    private struct SigningIn: ChallengeHandler {
        let tokens: Tokens

        func answer(_ request: ChallengedRequest) async throws -> Credentials? {
            try await tokens.signIn(with: Token("other-user"))
            return try .field(.cookie, "k=1")
        }
    }

    @Test(arguments: [HTTPResponse.Status.found, .unauthorized])
    func `A request after a redirection or a challenge is not sent with the token of another user`(
        status: HTTPResponse.Status
    ) async throws {
        let api = StubConnection { _ in
            Response(status: status, fields: [.location: "/next", .wwwAuthenticate: "Key"])
        }
        let policy = RedirectionPolicy("signing in") { [tokens] _ in
            try await tokens.signIn(with: Token("other-user"))
            return true
        }
        let authenticated = api.authenticating(with: tokens, for: try .api())
        let connection: any Connection =
            status == .found
            ? authenticated.followingRedirects(policy: policy, clock: clock)
            : authenticated.answeringChallenges(with: [SigningIn(tokens: tokens)], for: [try .api()])
        await #expect(throws: SignedOutError(.signedOut)) { try await connection.send(.get(RotatingServer.apiURL)) }
        #expect(api.requests.count == 1)
    }

    @Test func `A body that is read once is not sent again, and the next call has a new token`() async throws {
        let api = server.api
        let tokens = try staleTokens()
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

    @Test func `The layer shows its stack for refreshes, its state and its secret field`() throws {
        let connection = server.api.authenticating(with: tokens, for: try .api())
        let layer = try #require(connection.layers.first)
        #expect("\(layer)" == "authenticating(with: tokens, for: https://api.example.com) {refresh: [RotatingServer]}")
        #expect(layer.branches.map(\.carriesRequests) == [false])
        #expect(layer.secretFields == [.authorization] && layer.sending.times == 1...2 && layer.facts.contains(.waits))
        #expect(layer.facts.isSuperset(of: [.addsCredentials, .bindsToOrigins, .changesUsers]))
        let other = server.api.authenticating(with: tokens, for: try .api())
        #expect(other.layers.first?.memory.state == layer.memory.state)
    }
}
