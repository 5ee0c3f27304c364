import Decorum
import DecorumAuthentication
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

struct SignedInUser: Step {
    let title = "Three callers with an expired token make one refresh; a cookie is kept; signing out removes both"
    let pointer = "Each caller gets a 401 at most once, and the authorization server is asked one time."
    let code = "try await SigningOut(tokens, cookies).signOut(user)"

    func run(on stage: Stage) async throws {
        let server = SessionServer(on: stage.origin)
        stage.origin.route(
            .get, "/partner",
            LoopbackOrigin.Answer(.found, fields: ["Location": "http://localhost:\(stage.otherOrigin.port)/partner"]))
        stage.otherOrigin.route(.get, "/partner", LoopbackOrigin.Answer(body: "Hello, stranger."))

        let client = OAuthClient(
            "tour", of: try AuthorizationServer(token: "\(stage.origin.url)/token"), over: SystemConnection())
        // The client does not know that the token has expired: the server tells it.
        let old = try Token(server.accessToken(0), refreshToken: server.refreshToken(0))
        let tokens = Tokens(in: MemoryTokenStore(old), from: client.refreshing(), servesOneUser: true)
        let cookies = CookieJar()
        let user = Principal("visitor")
        let connection = try SystemConnection()
            .printingMessages(on: stage.terminal)
            .authenticating(with: tokens, for: stage.origin.origin)
            .retrying()
            .keepingCookies(in: cookies)
            .followingRedirects()
            .resolving(against: stage.origin.url)
            .acting(for: user)
            .limitingTime()

        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 1...3 {
                stage.terminal.app("GET /notes, caller \(number)")
                group.addTask { try await connection.send(.get("/notes")).body.text(upTo: 1000) }
            }
            for try await text in group {
                try stage.check(text == "The notes.", "each caller gets the notes")
            }
        }
        stage.terminal.app("the authorization server was asked \(server.refreshes) time")
        try stage.check(server.refreshes == 1, "one refresh is enough for all callers")

        _ = try await connection.send(.get("/notes")).body.text(upTo: 1000)
        let latest = stage.origin.requests.last { $0.path == "/notes" }
        stage.terminal.app("the jar has \(cookies), which goes along")
        try stage.check(latest?.fields["Cookie"] == server.cookie, "the cookie is kept")

        stage.terminal.app("GET /partner, which leads to another server")
        let response = try await connection.send(.get("/partner"))
        stage.terminal.app("\(response.status.code): \(try await response.body.text(upTo: 1000))")
        let sent = stage.origin.requests.last { $0.path == "/partner" }
        let landed = stage.otherOrigin.requests.last { $0.path == "/partner" }
        try stage.check(
            sent?.fields["Authorization"] != nil && sent?.fields["Cookie"] != nil, "both are sent to their own server")
        try stage.check(landed?.fields["Authorization"] == nil, "the other server gets no token")
        try stage.check(landed?.fields["Cookie"] == nil, "the other server gets no cookie")
        let bytes = landed.map { String(decoding: $0.rawHead, as: UTF8.self) } ?? ""
        try stage.check(
            !bytes.isEmpty && !server.secrets.contains(where: bytes.contains), "no byte of a secret arrives there")

        try await SigningOut(tokens, cookies).signOut(user)
        let count = stage.origin.requests.count
        stage.terminal.app("signed out; the jar has \(cookies)")
        do {
            _ = try await connection.send(.get("/notes"))
            throw CheckFailure(description: "Not so: a user who has signed out sends nothing.")
        } catch let error as SignedOutError {
            stage.terminal.app("\(error)")
        }
        try stage.check(stage.origin.requests.count == count && cookies.count == 0, "nothing is sent any more")
    }
}

/// An authorization server with rotation, and an API that accepts its newest token.
private final class SessionServer: Sendable {
    private let key = UInt64.random(in: .min ... .max)
    private let issued = Mutex(1)
    private let asked = Mutex(0)

    init(on origin: LoopbackOrigin) {
        // The first token that was given has expired: only that of the next refresh is accepted.
        origin.route(.post, "/token") { [self] request in
            let number = issued.withLock { issued -> Int? in
                guard request.text.contains("refresh_token=\(refreshToken(issued - 1))&") else { return nil }
                issued += 1
                return issued - 1
            }
            asked.withLock { $0 += 1 }
            let json: RawFields = ["Content-Type": "application/json"]
            guard let number else { return .init(.badRequest, fields: json, body: #"{"error":"invalid_grant"}"#) }
            return .init(
                fields: json,
                body: """
                    {"access_token":"\(accessToken(number))","token_type":"Bearer","expires_in":3600,\
                    "refresh_token":"\(refreshToken(number))"}
                    """)
        }
        origin.route(.get, "/notes") { [self] request in
            let newest = issued.withLock { $0 - 1 }
            guard newest > 0, request.fields["Authorization"] == "Bearer \(accessToken(newest))" else {
                return .init(.unauthorized, fields: ["WWW-Authenticate": #"Bearer error="invalid_token""#])
            }
            return .init(
                fields: ["Set-Cookie": "\(cookie); Path=/; HttpOnly", "Cache-Control": "no-store"], body: "The notes.")
        }
    }

    var refreshes: Int { asked.withLock { $0 } }
    var cookie: String { "session=\(key)-cookie" }
    /// The parts of tokens and cookies that are secret.
    var secrets: [String] { ["\(key)"] }

    func accessToken(_ number: Int) -> String { "\(key)-access-\(number)" }
    func refreshToken(_ number: Int) -> String { "\(key)-refresh-\(number)" }
}
