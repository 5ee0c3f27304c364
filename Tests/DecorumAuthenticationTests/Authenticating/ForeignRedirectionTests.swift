import DecorumAuthentication
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Every kind of credential through every shape of a redirection, and the bytes that arrive at a foreign server.
@Suite(.timeLimit(.minutes(5))) struct ForeignRedirectionTests {
    enum Kind: CaseIterable {
        case bearer, basic, apiKey, tokens, challenge, cookie, ownAuthorization, ownCookie, ownSecretField

        /// The ports of a host share cookies (RFC 6265bis, section 8.5), so another port is no foreign server for them.
        var isOfHost: Bool { self == .cookie }
    }

    enum Shape: CaseIterable {
        /// Another port of the same host, another host, and one without a scheme.
        case port, host, withoutScheme
        /// Over a second hop at home, and back home after the foreign server.
        case chain, back
        /// With a name and a password in the URL, and with a fragment.
        case userInfo, fragment
        /// Another scheme at the home server's own address.
        case scheme
    }

    private static let codes = [301, 302, 303, 307, 308]
    private static let secret = "x7Rq2LmZ9sKd4TbVw8NcYh3J"
    private static var base64: String { Data("user:\(secret)".utf8).base64EncodedString() }

    /// Two servers, of which the first has the credentials.
    private struct Servers {
        let home: LoopbackOrigin
        let foreign: LoopbackOrigin

        init() throws {
            (home, foreign) = (try LoopbackOrigin(), try LoopbackOrigin())
        }

        func stop() {
            home.stop()
            foreign.stop()
        }

        /// Redirects `/start` and what follows it, until a server answers with 200.
        func route(_ shape: Shape, _ code: Int, challenging: Bool) {
            let away = "http://localhost:\(foreign.port)"
            let location =
                switch shape {
                case .port: "\(foreign.url)/end"
                case .host: "\(away)/end"
                case .withoutScheme: "//localhost:\(foreign.port)/end"
                case .chain: "/middle"
                case .back: "\(away)/back"
                case .userInfo: "http://me:pass@localhost:\(foreign.port)/end"
                case .fragment: "\(away)/end#part"
                case .scheme: "https://127.0.0.1:\(home.port)/end"
                }
            for (server, path, location) in [
                (home, "/start", location), (home, "/middle", "\(away)/end"), (foreign, "/back", "\(home.url)/home"),
            ] {
                server.route(nil, path) { request in
                    guard !challenging || path != "/start" || request.fields["Authorization"] != nil else {
                        return .init(.unauthorized, fields: ["WWW-Authenticate": #"Basic realm="door""#])
                    }
                    return .init(.init(code: code), fields: ["Location": location])
                }
            }
            for path in ["/end", "/home"] {
                home.route(nil, path, "home")
                foreign.route(nil, path, "foreign")
            }
        }
    }

    @Test(arguments: Kind.allCases, Shape.allCases)
    func `No byte of a credential reaches a foreign server`(kind: Kind, shape: Shape) async throws {
        for code in Self.codes {
            let servers = try Servers()
            defer { servers.stop() }
            let connection = try connection(kind, servers)
            servers.route(shape, code, challenging: kind == .challenge)
            var request = try Request.get(servers.home.url + "/start")
            try addOwnFields(kind, to: &request)
            if shape == .scheme {
                // The home server speaks no TLS.
                let sent = request
                await #expect(throws: TransportError.self) { try await connection.send(sent) }
            } else {
                _ = try await connection.send(request).body.data(upTo: 1000)
            }

            let start = try #require(servers.home.requests.last { $0.path == "/start" })
            let sent = String(decoding: start.rawHead, as: UTF8.self)
            #expect(sent.contains(Self.secret) || sent.contains(Self.base64), "\(kind) is not sent at all: \(sent)")
            let arrived = servers.foreign.requests
            // A URL with a name and a password is not followed at all.
            let isFollowed = shape != .scheme && shape != .userInfo
            #expect(arrived.count == (isFollowed ? 1 : 0) && servers.foreign.rejections.isEmpty)
            let isShared = kind.isOfHost && shape == .port
            for request in arrived where !isShared {
                let bytes = String(decoding: request.rawHead + request.rawBody, as: UTF8.self)
                for form in [Self.secret, Self.base64, "pass", Data("me:pass".utf8).base64EncodedString()] {
                    #expect(!bytes.contains(form), "\(code): \(bytes)")
                }
                for name in ["Authorization", "Cookie", "X-API-Key"] {
                    #expect(request.fields[name] == nil, "\(code): \(bytes)")
                }
            }
            if shape == .back {
                // A foreign server has chosen this request, so it has no credential either; cookies follow their own rules.
                let last = try #require(servers.home.requests.last)
                let bytes = String(decoding: last.rawHead, as: UTF8.self)
                #expect(last.path == "/home" && !bytes.contains(Self.base64))
                #expect(bytes.contains(Self.secret) == (kind == .cookie), "\(bytes)")
            }
        }
    }

    private func connection(_ kind: Kind, _ servers: Servers) throws -> any Connection {
        let transport = SystemConnection()
        let home = servers.home.origin
        let key = try #require(HTTPField.Name("X-API-Key"))
        let authenticated: any Connection =
            switch kind {
            case .bearer: transport.authenticating(with: try .bearer(Self.secret), for: home)
            case .basic: transport.authenticating(with: try .basic(user: "user", password: Self.secret), for: home)
            case .apiKey: transport.authenticating(with: try .field(key, Self.secret), for: home)
            case .tokens:
                transport.authenticating(
                    with: Tokens(in: MemoryTokenStore(try Token(Self.secret)), from: NoSource()), for: home)
            case .challenge:
                transport.answeringChallenges(with: [PasswordGiver(password: Self.secret)], for: [home])
            case .cookie: try keepingCookie(transport, servers)
            case .ownAuthorization, .ownCookie, .ownSecretField: transport
            }
        return authenticated.followingRedirects()
    }

    private func keepingCookie(_ transport: some Connection, _ servers: Servers) throws -> any Connection {
        let jar = CookieJar(suffixes: .conservative)
        let url = try #require(URL(string: servers.home.url))
        // `None` needs an encrypted connection, so this is the cookie that goes the furthest here.
        let cookie = try #require(SetCookie("session=\(Self.secret); Path=/; SameSite=Lax"))
        #expect(jar.set(cookie, from: url) == nil)
        return transport.keepingCookies(in: jar)
    }

    private func addOwnFields(_ kind: Kind, to request: inout Request) throws {
        switch kind {
        case .ownAuthorization: request.head.headerFields[.authorization] = "Bearer \(Self.secret)"
        case .ownCookie: request.head.headerFields[.cookie] = "session=\(Self.secret)"
        case .ownSecretField:
            let key = try #require(HTTPField.Name("X-API-Key"))
            request.head.headerFields[key] = Self.secret
            request.options.secretFields = [key]
        default: break
        }
    }
}

private struct NoSource: TokenSource {
    var layers: [Layer] { [] }

    func token(replacing token: Token?) async throws -> Token { throw OAuthError(.invalidGrant) }
}

private struct PasswordGiver: ChallengeHandler {
    let password: String

    func answer(_ request: ChallengedRequest) async throws -> Credentials? {
        try .basic(user: "user", password: password)
    }
}
