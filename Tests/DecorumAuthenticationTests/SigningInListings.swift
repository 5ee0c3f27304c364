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
        try await SigningOut(requests, tokens, cookies, responses).signOut(Self.user)
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
        _ = server
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

    func signingOut(requests: RequestsUnderWay, cookies: CookieJar, responses: MemoryResponseStore) async throws {
        let session = SigningOut(requests, tokens, cookies, responses)
        try await session.signOut(Principal("user-42"))
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
