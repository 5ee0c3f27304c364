#if Signing
import Crypto
import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumSigning

/// Every kind of proof through every shape of a redirection, and into every place where a secret could be kept.
@Suite(.timeLimit(.minutes(5))) struct ForeignProofTests {
    enum Kind: CaseIterable {
        case digest, oauth1, hmac, dpop
    }

    enum Shape: CaseIterable {
        /// Another path of the same server, another port of the same host, another host, and one without a scheme.
        case same, port, host, withoutScheme
        /// Over a second hop at home, and back home after the foreign server.
        case chain, back
    }

    enum Sink: CaseIterable {
        case lines, fields, bodies, events, histories, layers, requests, values, cassette
    }

    private static let codes = [301, 302, 303, 307, 308]
    private static let secret = "x7Rq2LmZ9sKd4TbVw8NcYh3J"
    private static let fields = ["Authorization", "DPoP", "X-Signature"]

    private func proving(_ kind: Kind, over transport: some Connection, for home: Origin) throws -> any Connection {
        let field = try #require(HTTPField.Name("X-Signature"))
        return switch kind {
        case .digest:
            transport.authenticating(with: try DigestCredentials(user: Self.secret, password: Self.secret), for: home)
        case .oauth1:
            transport.authenticating(
                with: .signer(OAuth1(consumer: "c", secret: Self.secret, token: Self.secret, tokenSecret: "t")),
                for: home)
        case .hmac:
            transport.authenticating(
                with: .signer(
                    HMACSigner(
                        key: SymmetricKey(data: Data(Self.secret.utf8)), parts: [.method, .target], field: field,
                        prefix: Self.secret)), for: home)
        case .dpop:
            transport.provingPossession(with: try DPoP(key: .p256(.init())), for: home)
                .authenticating(with: try .field(.authorization, "DPoP \(Self.secret)"), for: home)
        }
    }

    /// Asks for Digest where a request has no proof.
    private func answer(
        _ kind: Kind, to request: ReceivedRequest, _ response: LoopbackOrigin.Answer
    ) -> LoopbackOrigin.Answer {
        guard kind == .digest, request.fields["Authorization"] == nil else { return response }
        return .init(
            .unauthorized,
            fields: ["WWW-Authenticate": #"Digest realm="door", nonce="n", qop="auth", algorithm=SHA-256"#])
    }

    @Test(arguments: Kind.allCases, Shape.allCases)
    func `No byte of a proof reaches a foreign server`(kind: Kind, shape: Shape) async throws {
        for code in Self.codes {
            let (home, foreign) = (try LoopbackOrigin(), try LoopbackOrigin())
            defer {
                home.stop()
                foreign.stop()
            }
            let away = "http://localhost:\(foreign.port)"
            let location =
                switch shape {
                case .same: "/end"
                case .port: "\(foreign.url)/end"
                case .host: "\(away)/end"
                case .withoutScheme: "//localhost:\(foreign.port)/end"
                case .chain: "/middle"
                case .back: "\(away)/back"
                }
            for (server, path, location) in [
                (home, "/start", location), (home, "/middle", "\(away)/end"), (foreign, "/back", "\(home.url)/home"),
            ] {
                server.route(nil, path) { request in
                    let response = LoopbackOrigin.Answer(.init(code: code), fields: ["Location": location])
                    return server.port == home.port ? answer(kind, to: request, response) : response
                }
            }
            for path in ["/end", "/home"] {
                home.route(nil, path, "home")
                // A foreign server may ask for a proof too.
                foreign.route(nil, path) { answer(kind, to: $0, .init(.ok)) }
            }
            let connection = try proving(kind, over: SystemConnection(), for: home.origin).followingRedirects()
            _ = try await connection.send(.get(home.url + "/start")).body.data(upTo: 1000)

            let start = try #require(home.requests.last { $0.path == "/start" })
            #expect(Self.fields.contains { start.fields[$0]?.isEmpty == false }, "\(kind) is not sent at all")
            #expect(foreign.requests.count == (shape == .same ? 0 : 1))
            var bare = foreign.requests
            // A foreign server has chosen this request, so it has no proof either.
            if shape == .back { bare += home.requests.filter { $0.path == "/home" } }
            for request in bare {
                let bytes = String(decoding: request.rawHead + request.rawBody, as: UTF8.self)
                #expect(!bytes.contains(Self.secret), "\(code): \(bytes)")
                for name in Self.fields { #expect(request.fields[name] == nil, "\(code): \(bytes)") }
            }
            if shape == .same {
                let end = try #require(home.requests.last)
                #expect(end.path == "/end" && Self.fields.contains { end.fields[$0] != nil })
                for name in Self.fields where name != "Authorization" || kind != .dpop {
                    #expect(
                        end.fields[name] == nil || end.fields[name] != start.fields[name], "The hop is not signed anew."
                    )
                }
            }
        }
    }

    @Test(arguments: Kind.allCases, Sink.allCases)
    func `No sink holds a proof`(kind: Kind, sink: Sink) async throws {
        let url = "https://api.example.com/notes?page=1"
        let output = Mutex("")
        func add(_ values: Any...) {
            output.withLock {
                for value in values { $0 += "\(value)\n\(String(reflecting: value))\n\(dumped(value))\n" }
            }
        }
        let stub = StubConnection { request in
            guard kind != .digest || request.head.headerFields[.authorization] != nil else {
                return Response(
                    status: .unauthorized, fields: [.wwwAuthenticate: #"Digest realm="door", nonce="n", qop="auth""#])
            }
            return Response(status: .ok, body: "note")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "proofs-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var rules = CassetteRules()
        rules.reportReplacements = nil
        let cassette = try Cassette(at: folder.appending(path: "a.json").path, mode: .rewrite, rules: rules)
        let lines = Mutex("")
        let log = LogSink { line in lines.withLock { $0 += line + "\n" } }
        let inner: any Connection =
            switch sink {
            case .lines: stub.logging(to: log)
            case .fields: stub.logging(to: log, detail: .fields)
            case .bodies: stub.logging(to: log, detail: .bodies(upTo: 4096))
            case .events:
                stub.observing(as: .attempt) { event in
                    lines.withLock { $0 += String(reflecting: event) + dumped(event) }
                }
            case .cassette: stub.recording(on: cassette)
            default: stub
            }
        let connection = try proving(kind, over: inner, for: Origin(url)).retrying().followingRedirects()
        var request = try Request.post(url, body: "content")
        let context = CallContext(keepingHistory: 100)
        request.options.callContext = context
        let response = try await connection.send(request)
        #expect(response.status == .ok)
        try await cassette.finish()
        switch sink {
        case .histories: add(context, context.history)
        case .layers: add(connection.layers, connection.composition, connection.findings)
        case .requests: add(stub.requests, response, response.metadata)
        case .values: add(connection)
        case .cassette: add(try String(contentsOf: folder.appending(path: "a.json"), encoding: .utf8))
        default: add(lines.withLock { $0 })
        }
        let text = output.withLock { $0 }
        #expect(!text.isEmpty && !text.contains(Self.secret))
        // Each proof that was sent, and its parts.
        for field in stub.requests.flatMap({ Array($0.head.headerFields) })
        where Self.fields.contains(where: { $0.lowercased() == field.name.canonicalName }) {
            let parts = field.value.split { " ,\".".contains($0) }.filter { $0.utf8.count > 30 }
            #expect(!parts.isEmpty || kind == .dpop)
            for part in parts { #expect(!text.contains(part), "\(sink) holds \(part)") }
        }
    }

    @Test(arguments: Kind.allCases)
    func `A stack with a proof has no mistake in its order`(kind: Kind) throws {
        let connection = try proving(kind, over: StubConnection(), for: Origin("https://api.example.com"))
            .retrying().followingRedirects()
        #expect(connection.findings.filter { $0.severity == .error }.isEmpty, "\(connection.findings)")
    }

    @Test(arguments: StandardStack.Preset.allCases)
    func `The standard stack takes Digest and DPoP, and finds no fault with them`(preset: StandardStack.Preset) throws {
        let (transport, clock) = (StubConnection(), VirtualClock())
        let client = OAuthClient(
            "app", of: try AuthorizationServer(token: "https://id.example.com/token"), over: transport, clock: clock)
        let dpop = try DPoP(clock: clock)
        let tokens = Tokens(
            in: MemoryTokenStore(), from: try client.provingPossession(with: dpop).refreshing(), servesOneUser: true,
            clock: clock)
        for authentication in [
            StandardStack.Authentication.with(try DigestCredentials(user: "me", password: "pass")),
            .with(tokens, proving: dpop),
        ] {
            let connection = try StandardStack(preset, for: "https://api.example.com/").composed(
                over: transport, authentication: authentication, principal: Principal("user-42"), clock: clock)
            #expect(connection.findings.isEmpty, "\(connection.findings)")
            #expect(connection.composition.unknownLayers.isEmpty)
        }
    }

    @Test func `No token request shows an assertion`() async throws {
        let lines = Mutex("")
        let stub = StubConnection { _ in
            Response(status: .ok, body: #"{"access_token":"x7RqAccess","token_type":"Bearer"}"#)
        }
        let log = LogSink { line in lines.withLock { $0 += line + "\n" } }
        let client = OAuthClient(
            "app", of: try AuthorizationServer(token: "https://id.example.com/token"),
            authentication: try .privateKeyJWT(.p256(.init())),
            over: stub.logging(to: log, detail: .bodies(upTo: 1 << 16)))
        let source = client.tokens(
            for: JWTAssertion(issuer: "a", subject: "b", audience: "c", key: .ed25519(.init())))
        _ = try await source.token(replacing: nil)
        let form = try #require(await stub.requests.first?.formItems())
        let text = lines.withLock { $0 } + "\(client)" + dumped(client) + dumped(source)
        #expect(text.contains("client_id"))
        for name in ["assertion", "client_assertion"] {
            let value = try #require(form.first { $0.name == name }?.value)
            for part in value.split(separator: ".") { #expect(!text.contains(part)) }
        }
        #expect(!text.contains("x7Rq"))
    }
}
#endif
