import Decorum
import DecorumAuthentication
import DecorumCookies
import DecorumTesting
import Foundation
import Synchronization

extension Step {
    static let signedRequest = Step(
        title: "A request is signed, and the origin verifies it",
        look: "The field Authorization in the messages, whose value is not shown.",
        code: ".authenticating(with: .signer(signer), for: origin)"
    ) { stage in
        let verifier = ChecksumSigner(key: Stage.key)
        stage.origin.route(.get, "/vault*") { request in
            verifier.verifies(request) ? .init(body: "The signature is yours.") : .init(.unauthorized)
        }
        let (_, text) = try await stage.get("/vault?drawer=7")
        try stage.check(text == "The signature is yours.", "the origin accepts the signature")
        stage.terminal.app("the same, without a signature")
        let error =
            await stage.error {
                _ = try await stage.get("/vault?drawer=7") { $0.options.skipsAuthentication = true }
            } as? StatusError
        try stage.check(error?.status == .unauthorized, "the origin refuses a request without a signature")
    }

    static let foreignRedirection = Step(
        title: "A redirection to another origin sends no credentials there",
        look: "The fields that the other origin received: neither Authorization nor Cookie is among them.",
        code: ".authenticating(with: .signer(signer), for: origin) … .followingRedirects()"
    ) { stage in
        stage.otherOrigin.route(.get, "/landing", .init(body: "Who are you?"))
        stage.origin.route(.get, "/leave", .init(.found, fields: ["Location": "\(stage.otherOrigin.url)/landing"]))
        _ = try await stage.get("/leave") { $0.head.headerFields[.cookie] = "session=secret" }
        let sent = stage.origin.requests.last { $0.path == "/leave" }
        let landed = stage.otherOrigin.requests.last
        let names = landed?.fields.lines.map(\.name).joined(separator: ", ") ?? "nothing"
        stage.terminal.app("the other origin received: \(names)")
        let isSent = sent?.fields["Authorization"] != nil && sent?.fields["Cookie"] == "session=secret"
        try stage.check(isSent, "the credentials are sent to their own origin")
        let isKept = landed?.fields["Authorization"] == nil && landed?.fields["Cookie"] == nil
        try stage.check(landed?.path == "/landing" && isKept, "the other origin gets no credentials, and no cookie")
    }

    static let signedInUser = Step(
        title: "Three callers with an expired token make one refresh; a cookie is kept; signing out removes both",
        look: "Each caller gets a 401 at most once, and the authorization server is asked one time.",
        code: "try await SigningOut(tokens, cookies).signOut(user)"
    ) { stage in
        let origin = stage.origin
        let server = SessionServer(on: origin)
        let client = OAuthClient(
            "tour", of: try AuthorizationServer(token: "\(origin.url)/token"), over: SystemConnection())
        // The client does not know that the token has expired: the server tells it.
        let old = try Token(server.accessToken(0), refreshToken: server.refreshToken(0))
        let tokens = Tokens(in: MemoryTokenStore(old), from: client.refreshing(), servesOneUser: true)
        let cookies = CookieJar()
        let user = Principal("visitor")
        let connection = try stage.transport
            .authenticating(with: tokens, for: origin.origin)
            .retrying()
            .keepingCookies(in: cookies)
            .followingRedirects()
            .resolving(against: origin.url)
            .acting(for: user)
            .limitingTime()
        let callers = (1...3).map { _ in Task { try await stage.get("/notes", over: connection).text } }
        for caller in callers { try stage.check(await caller.value == "The notes.", "each caller gets the notes") }
        let refreshes = origin.requests.count { $0.path == "/token" }
        stage.terminal.app("the authorization server was asked \(refreshes) time")
        try stage.check(refreshes == 1, "one refresh is enough for all callers")
        _ = try await stage.get("/notes", over: connection)
        let latest = origin.requests.last { $0.path == "/notes" }
        stage.terminal.app("the jar has \(cookies), which goes along")
        try stage.check(latest?.fields["Cookie"] == server.cookie, "the cookie is kept")
        try await SigningOut(tokens, cookies).signOut(user)
        let count = origin.requests.count
        stage.terminal.app("signed out; the jar has \(cookies)")
        let refusal = await stage.error { _ = try await stage.get("/notes", over: connection) }
        try stage.check(refusal is SignedOutError, "a user who has signed out sends nothing")
        try stage.check(origin.requests.count == count && cookies.count == 0, "no request was sent")
    }
}

/// Signs with a keyed checksum (FNV-1a): it shows where a signature is added, and protects nothing.
struct ChecksumSigner: RequestSigner {
    let key: UInt64
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) -> Request {
        var request = request
        let (method, path) = (request.head.method, request.head.path ?? "/")
        request.head.headerFields[.authorization] = "Checksum \(checksum(of: "\(method) \(path)"))"
        return request
    }

    func verifies(_ request: ReceivedRequest) -> Bool {
        request.fields["Authorization"] == "Checksum \(checksum(of: "\(request.method) \(request.target)"))"
    }

    private func checksum(of text: String) -> String {
        let hash = text.utf8.reduce(key ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}

/// An authorization server with rotation, and an API that accepts its newest token; the first one has expired.
final class SessionServer: Sendable {
    /// The part of each token and cookie that is secret.
    private let secret = "\(UInt64.random(in: .min ... .max))"
    private let refreshes = Mutex(0)

    init(on origin: LoopbackOrigin) {
        origin.route(.post, "/token") { [self] request in
            let json: RawFields = ["Content-Type": "application/json"]
            return refreshes.withLock { count in
                guard request.text.contains("refresh_token=\(refreshToken(count))&") else {
                    return .init(.badRequest, fields: json, body: #"{"error":"invalid_grant"}"#)
                }
                count += 1
                let tokens = #""access_token":"\#(accessToken(count))","refresh_token":"\#(refreshToken(count))""#
                return .init(fields: json, body: #"{\#(tokens),"token_type":"Bearer","expires_in":3600}"#)
            }
        }
        origin.route(.get, "/notes") { [self] request in
            let count = refreshes.withLock(\.self)
            guard count > 0, request.fields["Authorization"] == "Bearer \(accessToken(count))" else {
                return .init(.unauthorized, fields: ["WWW-Authenticate": #"Bearer error="invalid_token""#])
            }
            let fields: RawFields = ["Set-Cookie": "\(cookie); Path=/; HttpOnly", "Cache-Control": "no-store"]
            return .init(fields: fields, body: "The notes.")
        }
    }

    var cookie: String { "session=\(secret)-cookie" }
    func accessToken(_ number: Int) -> String { "\(secret)-access-\(number)" }
    func refreshToken(_ number: Int) -> String { "\(secret)-refresh-\(number)" }
}
