import DecorumAuthentication
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

struct Browser: Sendable {
    let open: @Sendable (URL) async throws -> URL
}

extension AuthorizationServer {
    static var example: AuthorizationServer {
        get throws {
            try AuthorizationServer(
                issuer: "https://id.example.com", authorization: "https://id.example.com/authorize",
                token: "https://id.example.com/token", revocation: "https://id.example.com/revoke",
                namesIssuerInAnswers: true)
        }
    }
}

struct Account: Sendable {
    static let user = Principal("user-42")

    let client: OAuthClient
    let store: FileTokenStore
    let tokens: Tokens
    let cookies = CookieJar()
    let responses = MemoryResponseStore()
    let requests = RequestsUnderWay()
    let connection: any Connection

    init(directory: URL) throws {
        client = OAuthClient("notes-app", of: try .example, over: SystemConnection())
        store = try FileTokenStore(directory: directory)
        tokens = Tokens(in: store, from: client.refreshing(), servesOneUser: true)
        connection = try StandardStack(for: "https://api.example.com/").composed(
            authentication: .with(tokens), principal: Self.user, store: responses,
            adding: [.keepingCookies(in: cookies), .ending(with: requests)])
    }
}

extension Account {
    func byHand() throws -> some Connection {
        try SystemConnection()
            .authenticating(with: tokens, for: Origin("https://api.example.com"))
            .retrying()
            .caching(in: responses)
            .keepingCookies(in: cookies)
            .followingRedirects()
            .resolving(against: "https://api.example.com/")
            .ending(with: requests)
            .acting(for: Self.user)
            .limitingTime()
    }
}

extension Account {
    func signIn(with browser: Browser) async throws {
        let request = try client.authorizationRequest(
            redirectURI: "com.example.notes:/signed-in", scope: "notes",
            proofKey: ProofKey(sha256: { SHA256.hash(data: $0) }))
        let callback = try await browser.open(request.url)
        try await tokens.signIn(with: client.token(from: callback, for: request))
    }
}

extension Account {
    func notes() async throws -> String {
        do {
            let response = try await connection.send(.get("notes"))
            return try await response.body.text(upTo: 1 << 20)
        } catch is SignedOutError {
            return "Please sign in."
        } catch let error as TokenRefreshError {
            return "You are still signed in. \(error.description)"
        }
    }
}

extension Account {
    func signOut() async throws {
        let old = try await store.token()
        try await SigningOut(requests, tokens, cookies, StoredResponses(responses)).signOut(Self.user)
        if let old { try await client.revoke(old) }
    }
}

extension Account {
    func watch(_ show: @Sendable (Bool) -> Void) async {
        for await token in store.changes() {
            if token == nil { await requests.signOut(Self.user) }
            show(token != nil)
        }
    }
}

struct SigningInListings {
    let clock: any DatedClock
    let client: OAuthClient
    let store: FileTokenStore
    let tokens: Tokens
    let browser: Browser

    func token() throws {
        let token = try Token("mF_9.B5f-4.1JqM", expiry: clock.date + 3600, refreshToken: "tGzv3JOkF0XG5Qx2TlKWIA")
        _ = token
    }

    func file(applicationSupport: URL) throws {
        let store = try FileTokenStore(directory: applicationSupport.appending(path: "Tokens"), name: "account-1")
        _ = store
    }

    func retrying() throws {
        let tokens = Tokens(in: store, from: client.refreshing())
        let connection = try SystemConnection()
            .authenticating(with: tokens, for: Origin("https://api.example.com"))
            .retrying()
            .limitingTime()
        _ = connection
    }

    func redirecting() throws {
        let tokens = Tokens(in: store, from: client.refreshing())
        let connection = try SystemConnection()
            .authenticating(with: tokens, for: Origin("https://api.example.com"))
            .retrying()
            .followingRedirects()
        _ = connection
    }

    func server() throws {
        let server = try AuthorizationServer(
            issuer: "https://id.example.com", authorization: "https://id.example.com/authorize",
            token: "https://id.example.com/token")
        let client = OAuthClient("my-app", of: server, over: SystemConnection())
        let tokens = Tokens(in: store, from: client.refreshing())
        _ = tokens
    }

    func proofKey() throws {
        let proofKey = try ProofKey(sha256: { SHA256.hash(data: $0) })
        _ = proofKey
    }

    func code() async throws {
        let proofKey = try ProofKey(sha256: { SHA256.hash(data: $0) })
        let request = try client.authorizationRequest(redirectURI: "com.example.app:/signed-in", proofKey: proofKey)
        let callback = try await browser.open(request.url)
        try await tokens.signIn(with: client.token(from: callback, for: request))
    }

    func device() async throws {
        let device = try await client.authorizeDevice(scope: "notes")
        print("Open \(device.verificationURI) and enter \(device.userCode)")
        try await tokens.signIn(with: client.token(for: device))
    }

    func standardStack() throws {
        let connection = try StandardStack(for: "https://api.example.com/").composed(authentication: .with(tokens))
        _ = connection
    }

    func signingOut(requests: RequestsUnderWay, cookies: CookieJar, store: MemoryResponseStore) async throws {
        let session = SigningOut(requests, tokens, cookies, StoredResponses(store))
        try await session.signOut(Principal("user-42"))
    }

    func ending(api: Origin) {
        let requests = RequestsUnderWay()
        let connection = SystemConnection()
            .authenticating(with: tokens, for: api)
            .ending(with: requests)
            .acting(for: Principal("user-42"))
        _ = connection
    }

    func challenges(response: Response) {
        for challenge in response.challenges where challenge.scheme == "bearer" {
            print(challenge["error"] ?? "no error")
        }
    }
}

struct PasswordHandler: ChallengeHandler {
    let ask: @Sendable (_ realm: String) async -> (name: String, password: String)?

    func answer(_ request: ChallengedRequest) async throws -> Credentials? {
        guard let basic = request.challenges.first(where: { $0.scheme == "basic" }) else { return nil }
        guard let (name, password) = await ask(basic.realm ?? "") else { return nil }
        return try .basic(user: name, password: password)
    }
}

struct SessionSource: TokenSource {
    let connection: any Connection

    var layers: [Layer] { connection.layers }

    func token(replacing token: Token?) async throws -> Token {
        guard let refreshToken = token?.refreshToken else { throw OAuthError(.invalidGrant) }
        var request = try Request.post("https://id.example.com/session", body: Body(json: ["token": refreshToken]))
        request.options.skipsAuthentication = true
        let response = try await connection.send(request)
        guard response.status != .unauthorized else { throw OAuthError(.invalidGrant) }
        guard response.status == .ok else { throw OAuthError(answering: response.head) }
        return try await Token(response.body.text(upTo: Token.lengthLimit))
    }
}

struct NotesTokenSource: TokenSource {
    struct Answer: Decodable {
        let token: String
        let refreshToken: String
        let expiresIn: Double
    }

    let connection: any Connection
    var clock: any DatedClock = SystemClock()

    var layers: [Layer] { connection.layers }

    func token(replacing token: Token?) async throws -> Token {
        guard let refreshToken = token?.refreshToken else { throw OAuthError(.invalidGrant) }
        return try await self.token(from: "refresh", for: ["refreshToken": refreshToken])
    }

    func token(from path: String, for content: [String: String]) async throws -> Token {
        let body = try Body(json: content)
        let response = try await connection.send(.post("https://api.example.com/\(path)", body: body))
        guard response.status != .unauthorized else { throw OAuthError(.invalidGrant) }
        guard response.status == .ok else { throw OAuthError(answering: response.head) }
        let answer = try await response.decode(Answer.self, upTo: 1 << 20)
        return try Token(answer.token, expiry: clock.date + answer.expiresIn, refreshToken: answer.refreshToken)
    }
}

@Suite(.timeLimit(.minutes(3))) struct NotesTokenSourceTests {
    private func refreshing(from answer: Response) throws -> (Tokens, StubConnection) {
        let stub = StubConnection(answer)
        let expired = try Token("access-1", expiry: Date(timeIntervalSince1970: 0), refreshToken: "refresh-1")
        return (Tokens(in: MemoryTokenStore(expired), from: NotesTokenSource(connection: stub)), stub)
    }

    @Test func `A source of one's own gets the next token`() async throws {
        let answer = #"{"token": "access-2", "refreshToken": "refresh-2", "expiresIn": 600}"#
        let (tokens, stub) = try refreshing(from: Response(status: .ok, body: Body(answer)))
        let token = try await tokens.token()
        #expect(token.accessToken == "access-2" && token.refreshToken == "refresh-2")
        #expect(stub.requests.map(\.head.path) == ["/refresh"])
    }

    @Test func `A refresh token that the server refuses signs the user out`() async throws {
        let (tokens, _) = try refreshing(from: Response(status: .unauthorized))
        await #expect(throws: SignedOutError.self) { try await tokens.token() }
    }
}
