#if Signing
import Crypto
import DecorumAuthentication
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumSigning

/// Every kind of proof through every shape of a redirection, and into every place where a secret could be kept.
@Suite(.timeLimit(.minutes(5))) struct ForeignProofTests {
    enum Kind: CaseIterable {
        case sigV4, sigV4A, message, dpop, digest, oauth1, hmac, queryItem, assertion

        /// The field whose value is another one for each request.
        var field: String? {
            switch self {
            case .message: "Signature"
            case .dpop: "DPoP"
            case .hmac: "X-Signature"
            case .queryItem, .assertion: nil
            default: "Authorization"
            }
        }
    }

    enum Shape: CaseIterable {
        /// Another path of the same server, another port of the same host, another host, and one without a scheme.
        case same, port, host, withoutScheme
        /// Over a second hop at home, and back home after the foreign server.
        case chain, back
    }

    private static let codes = [301, 302, 303, 307, 308]
    private static let secret = "x7Rq2LmZ9sKd4TbVw8NcYh3J"
    private static let secretFields = ["Authorization", "DPoP", "X-Signature", "Signature", "X-Amz-Security-Token"]
    private static let fields = secretFields + ["Signature-Input", "X-Amz-Date", "X-Amz-Content-SHA256"]
    private static let challenge = #"Digest realm="door", nonce="n", qop="auth", algorithm=SHA-256"#

    /// A connection with the proof, and the values that hold its secrets.
    private func proving(
        _ kind: Kind, over transport: some Connection, for home: Origin, clock: any DatedClock = SystemClock()
    ) throws -> (any Connection, values: [Any]) {
        func adding(_ credentials: Credentials, _ value: Any = 0) -> (any Connection, values: [Any]) {
            (transport.authenticating(with: credentials, for: home), [credentials, value])
        }
        func signing(_ signer: some RequestSigner) -> (any Connection, values: [Any]) {
            adding(.signer(signer), signer)
        }
        let key = SymmetricKey(data: Data(Self.secret.utf8))
        let aws = try AWSCredentials(
            accessKeyID: "AKIDEXAMPLE", secretAccessKey: Self.secret, sessionToken: Self.secret)
        switch kind {
        case .sigV4: return signing(SigV4(service: "s3", region: "eu-west-1", credentials: aws, clock: clock))
        case .sigV4A: return signing(SigV4(service: "s3", regions: ["*"], credentials: aws, clock: clock))
        case .message: return signing(MessageSigner(key: .hmac(key), id: "key-1", clock: clock))
        case .oauth1:
            let (secret, token) = (Self.secret, Self.secret)
            return signing(OAuth1(consumer: "c", secret: secret, token: token, tokenSecret: secret, clock: clock))
        case .hmac:
            let parts: [HMACSigner.Part] = [.method, .target, .timestamp(in: .date, as: .unixSeconds)]
            let field = HTTPField.Name.spelled("X-Signature")
            return signing(HMACSigner(key: key, parts: parts, field: field, prefix: Self.secret, clock: clock))
        case .queryItem: return adding(try .queryItem("key", Self.secret))
        case .digest:
            let digest = try DigestCredentials(user: Self.secret, password: Self.secret)
            return (transport.authenticating(with: digest, for: home), [digest])
        case .dpop:
            let dpop = try DPoP(key: .p256(.init()), clock: clock)
            let token = try Credentials.field(.authorization, "DPoP \(Self.secret)")
            let proven = transport.provingPossession(with: dpop, for: home).authenticating(with: token, for: home)
            return (proven, [dpop, token])
        case .assertion:
            let client = OAuthClient(
                "app", of: try AuthorizationServer(token: "\(home)/token"),
                authentication: try .privateKeyJWT(.p256(.init())), over: transport)
            let assertion = JWTAssertion(issuer: "a", subject: "b", audience: "c", key: .hmac(key))
            let source = client.tokens(for: assertion)
            let tokens = Tokens(in: MemoryTokenStore(), from: source, servesOneUser: true)
            return (transport.authenticating(with: tokens, for: home), [client, assertion, tokens])
        }
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
            let homeLocations = ["/start": location, "/token": location, "/middle": "\(away)/end"]
            for (server, locations) in [(home, homeLocations), (foreign, ["/back": "\(home.url)/home"])] {
                server.route(nil, "/*") { request in
                    // A foreign server may ask for a proof too.
                    if kind == .digest, request.path != "/back", request.fields["Authorization"] == nil {
                        return .init(.unauthorized, fields: ["WWW-Authenticate": Self.challenge])
                    }
                    return locations[request.path].map { .init(.init(code: code), fields: ["Location": $0]) }
                        ?? .init(.ok)
                }
            }
            let connection = try proving(kind, over: SystemConnection(), for: home.origin).0.followingRedirects()
            if kind == .assertion {
                // The token endpoint redirects, which no client follows.
                await #expect(throws: (any Error).self) { try await connection.send(.get(home.url + "/start")) }
                #expect(home.requests.map(\.path) == ["/token"] && foreign.requests.isEmpty)
                #expect(home.requests.first?.text.contains("client_assertion=") == true)
                continue
            }
            _ = try await connection.send(.get(home.url + "/start")).body.data(upTo: 1000)

            let start = try #require(home.requests.last { $0.path == "/start" })
            #expect(kind.field.map { start.fields[$0] != nil } ?? start.target.contains(Self.secret), "not sent at all")
            #expect(foreign.requests.count == (shape == .same ? 0 : 1))
            // A foreign server has chosen the request back home, so it has no proof either.
            for request in foreign.requests + home.requests.filter({ $0.path == "/home" }) {
                let bytes = String(decoding: request.rawHead + request.rawBody, as: UTF8.self)
                #expect(!bytes.contains(Self.secret), "\(code): \(bytes)")
                for name in Self.fields { #expect(request.fields[name] == nil, "\(code): \(bytes)") }
            }
            guard shape == .same else { continue }
            let end = try #require(home.requests.last)
            #expect(end.path == "/end" && (kind.field != nil || end.target.contains(Self.secret)))
            guard let field = kind.field else { continue }
            #expect(end.fields[field] != nil && end.fields[field] != start.fields[field], "not signed anew")
        }
    }

    /// Logs, events, recordings, histories, errors, descriptions and dumps, of a call that succeeds and one that fails.
    @Test(arguments: Kind.allCases)
    func `No sink holds a proof`(kind: Kind) async throws {
        let output = Mutex("")
        @Sendable func add(_ values: Any...) {
            for value in values {
                output.withLock { $0 += "\(value)\n\(String(reflecting: value))\n\(dumped(value))\n" }
            }
        }
        let stub = StubConnection { request in
            if request.head.path == "/token" {
                return Response(status: .ok, body: Body(#"{"access_token":"\#(Self.secret)","token_type":"Bearer"}"#))
            }
            let isAsked = kind == .digest && request.head.headerFields[.authorization] == nil
            return isAsked
                ? Response(status: .unauthorized, fields: [.wwwAuthenticate: Self.challenge])
                : Response(status: request.head.path?.hasPrefix("/refused") == true ? .forbidden : .ok, body: "note")
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UInt64.random(in: 0 ... .max))/a.json")
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        var rules = CassetteRules()
        rules.reportReplacements = nil
        let cassette = try Cassette(at: file.path, mode: .rewrite, rules: rules)
        let log = LogSink { add($0) }
        let inner = stub.recording(on: cassette).observing(as: .attempt) { add($0) }
            .logging(to: log).logging(to: log, detail: .fields).logging(to: log, detail: .bodies(upTo: 1 << 16))
        let (proven, values) = try proving(kind, over: inner, for: Origin("https://api.example.com"))
        let connection = proven.retrying().followingRedirects().validatingStatus()
        #expect(connection.findings.filter { $0.severity == .error }.isEmpty, "\(connection.findings)")
        var request = try Request.post("https://api.example.com/notes?page=1", body: "content")
        let context = CallContext(keepingHistory: 100)
        request.options.callContext = context
        let response = try await connection.send(request)
        request.head.path = "/refused"
        let refused = request
        let error = try await #require(throws: StatusError.self) { try await connection.send(refused) }
        let presigned = try await (values.last as? SigV4)?.presigned(.get("https://api.example.com/notes"))
        if let presigned { _ = try await inner.send(.get(presigned.absoluteString)) }
        try await cassette.finish()
        add(stub.requests, response, response.metadata, context, context.history, connection, connection.layers)
        add(connection.composition, connection.findings, values, error, Redaction.standard.description(of: error))
        add(error.localizedDescription, try String(contentsOf: file, encoding: .utf8))
        let text = output.withLock { $0 }
        // Each proof that was sent, and its parts.
        var proofs = stub.requests.flatMap { request in
            Self.secretFields.compactMap { HTTPField.Name($0).flatMap { request.head.headerFields[$0] } }
        }
        for item in try await stub.requests.first?.formItems() ?? [] where item.name.hasSuffix("assertion") {
            proofs.append(item.value)
        }
        if let presigned { proofs.append(String(presigned.absoluteString.suffix(64))) }
        let parts = proofs.flatMap { $0.split { " ,\".=:".contains($0) } }.filter { $0.utf8.count > 30 }
        #expect(!parts.isEmpty || kind == .queryItem)
        for part in parts + [Self.secret[...]] {
            guard let range = text.range(of: part) else { continue }
            Issue.record("A sink holds \(part) after \(text[..<range.lowerBound].suffix(300))")
        }
    }

    @Test(arguments: [Kind.sigV4, .sigV4A, .message, .dpop, .oauth1, .hmac], [86_400, -86_400])
    func `A clock that is wrong by a day is learnt from the answer`(kind: Kind, error: Double) async throws {
        let stub = StubConnection { _ in
            var response = Response(status: .forbidden, fields: [.date: "Sun, 30 Aug 2015 12:36:00 GMT"])
            response.metadata.source = .network
            return response
        }
        let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_440_938_160 + error))
        let api = "https://api.example.com"
        let connection = try proving(kind, over: stub, for: Origin(api), clock: clock).0
        for _ in 0..<2 { _ = try await connection.send(.get(api)) }
        let areRight = try stub.requests.map(\.head.headerFields).map { fields in
            let second = try fields[.proof].flatMap { try JWT($0).numbers["iat"] }.map { "\($0)" }
            let text = "\(fields.map(\.value)) \(second ?? "")"
            return text.contains("1440938160") || text.contains("20150830T123600Z")
        }
        #expect(areRight == [false, true])
    }

    @Test(arguments: Kind.allCases)
    func `A proof and a cache that share no principal are an error`(kind: Kind) throws {
        let connection = try proving(kind, over: StubConnection(), for: Origin("https://api.example.com")).0
        let shared = connection.caching(in: MemoryResponseStore())
        #expect(shared.findings.contains { $0.hazard == "principalMissing" && $0.severity == .error })
        let ofOne = shared.acting(for: Principal("user-42"))
        #expect(!ofOne.findings.contains { $0.severity == .error }, "\(ofOne.findings)")
    }

    @Test(arguments: StandardStack.Preset.allCases)
    func `The standard stack takes Digest and DPoP, and finds no fault with them`(preset: StandardStack.Preset) throws {
        let (transport, clock, dpop) = (StubConnection(), VirtualClock(), try DPoP())
        let client = try OAuthClient("app", of: AuthorizationServer(token: "https://id.example.com/"), over: transport)
            .provingPossession(with: dpop)
        let tokens = Tokens(in: MemoryTokenStore(), from: client.refreshing(), servesOneUser: true, clock: clock)
        let digest = StandardStack.Authentication.with(try DigestCredentials(user: "me", password: "pass"))
        for authentication in [digest, .with(tokens, proving: dpop)] {
            let connection = try StandardStack(preset, for: "https://api.example.com/").composed(
                over: transport, authentication: authentication, principal: Principal("user-42"), clock: clock)
            #expect(connection.findings.isEmpty && connection.composition.unknownLayers.isEmpty)
        }
    }
}
#endif
