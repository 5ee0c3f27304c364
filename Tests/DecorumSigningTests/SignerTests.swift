#if Signing
import Crypto
import CryptoExtras
import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

/// The examples of the RFCs, in `Fixtures/signing/proofs.json`, and signers whose secrets the server knows too.
@Suite(.timeLimit(.minutes(3))) struct SignerTests {
    private static let url = "https://api.example.com:8443/a%20b/c?b=2&a=%7E1&a=&c+d"
    private let key = SymmetricKey(data: Data("secret".utf8))
    private let clock = VirtualClock()
    private let server = StubConnection { _ in
        Response(status: .ok, body: #"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#)
    }
    private let vectors: [String: [[String: String]]]

    init() throws {
        vectors = try JSONDecoder().decode(
            [String: [[String: String]]].self, from: Fixtures.data("signing/proofs.json"))
    }

    private func client(
        _ authentication: ClientAuthentication = .none, of url: String = "https://id.example.com/token"
    ) throws -> OAuthClient {
        OAuthClient(
            "app", of: try AuthorizationServer(token: url), authentication: authentication, over: server, clock: clock)
    }

    private func connection(_ signer: some RequestSigner) throws -> any Connection {
        server.authenticating(with: .signer(signer), for: try Origin(Self.url))
    }

    /// Expects an assertion in the form that the server has got last.
    private func expectAssertion(
        _ name: String, by key: VerifyingKey, lifetime: Int, _ values: [String: String]
    ) async throws {
        let items = try await #require(server.requests.last).formItems()
        let jwt = try JWT(items?.first { $0.name == name }?.value)
        let now = Int(clock.date.timeIntervalSince1970)
        #expect(jwt.isSigned(by: key) && jwt.numbers == ["iat": now, "exp": now + lifetime])
        for (name, value) in values { #expect(jwt[name] == value, "\(name)") }
    }

    @Test func `Apple gets a client secret, and Google an assertion of a service account`() async throws {
        let key = P256.Signing.PrivateKey()
        let apple = try ClientAuthentication.appleClientSecret(
            team: "TEAM", key: .p256(key), keyID: "KEY", lifetime: .seconds(Int64.max), clock: clock)
        _ = try await client(apple).clientCredentials().token(replacing: nil)
        try await expectAssertion(
            "client_secret", by: .p256(key.publicKey), lifetime: 15_777_000,
            ["alg": "ES256", "kid": "KEY", "iss": "TEAM", "sub": "app", "aud": "https://appleid.apple.com"])

        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let url = "https://oauth2.example.com/token"
        let file = try JSONEncoder().encode([
            "client_email": "robot@example.com", "private_key_id": "k9", "private_key": rsa.pkcs8PEMRepresentation,
            "token_uri": url,
        ])
        let source = try ServiceAccount(keyFile: file).tokens(scope: "a b", for: "me", over: server, clock: clock)
        _ = try await source.token(replacing: nil)
        try await expectAssertion(
            "assertion", by: .rsaV15(rsa.publicKey), lifetime: 3600,
            ["alg": "RS256", "kid": "k9", "iss": "robot@example.com", "sub": "me", "scope": "a b", "aud": url])
        let form = try await #require(server.requests.last).formItems()
        #expect(form.map { Set($0.map(\.name)) } == ["grant_type", "assertion"])
    }

    @Test func `Keys of the wrong kind are refused, and a key that cannot sign sends nothing`() async throws {
        for make in [
            { _ = try ClientAuthentication.privateKeyJWT(.hmac(SymmetricKey(size: .bits256))) },
            { _ = try ClientAuthentication.appleClientSecret(team: "t", key: .ed25519(.init()), keyID: "k") },
        ] {
            #expect(try #require(throws: SigningError.self, performing: make).reason == .wrongKey)
        }
        let source = try client(.privateKeyJWT(SigningKey(.ecdsaP256) { _ in throw CancellationError() }))
            .clientCredentials()
        await #expect(throws: CancellationError.self) { try await source.token(replacing: nil) }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        ("", SigningError.Reason.noCredentials), ("<html>", .noCredentials), (#"{"client_email":"a"}"#, .noCredentials),
        (#"{"client_email":"a","private_key":"x7Rq2LmZ"}"#, .wrongKey),
        (#"{"client_email":"a","private_key":"x","token_uri":"no url"}"#, .noCredentials),
        (String(repeating: "[", count: 1 << 20), .noCredentials),
    ])
    func `A file that is no key file is refused without its content`(text: String, reason: SigningError.Reason) throws {
        let error = try #require(throws: SigningError.self) { try ServiceAccount(keyFile: Data(text.utf8)) }
        #expect(error.reason == reason && !error.description.contains("x7Rq"))
    }

    @Test func `The parts are signed in their order`() async throws {
        clock.advance(by: .milliseconds(250))
        let (time, digest) = (HTTPField.Name.spelled("X-Time"), HTTPField.Name.spelled("X-Digest"))
        let nonce = HTTPField.Name.spelled("X-Nonce")
        let signer = HMACSigner(
            key: key,
            parts: [
                .text("v1"), .method, .authority, .path, .query, .target, .field(.accept),
                .timestamp(in: time, as: .unixMilliseconds), .timestamp(in: time, as: .httpDate),
                .timestamp(in: time, as: .iso8601), .timestamp(in: time, as: .unixSeconds),
                .contentDigest(encoding: .base64, in: digest),
                .nonce(in: nonce), .computed { request in "\(request.body.length ?? -1)" },
            ], encoding: .base64, field: .authorization, prefix: "Acme key-1:", clock: clock)
        _ = try await connection(signer).send(.post(Self.url, fields: [.accept: "*/*"], body: "content"))
        let fields = try #require(server.requests.first).head.headerFields
        let body = Data(SHA256.hash(data: Data("content".utf8))).base64EncodedString()
        let random = try #require(fields[nonce])
        let text = try #require(vectors["parts"]?.first?["text"])
            .replacing("{digest}", with: body).replacing("{nonce}", with: random)
        let code = Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)).base64EncodedString()
        #expect(fields[.authorization] == "Acme key-1:\(code)")
        #expect(fields[time] == "1700000000" && fields[digest] == body && random.count == 32)
    }

    @Test func `What cannot be signed is not sent`() async throws {
        let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
        let signers: [(any RequestSigner, SigningError.Reason)] = [
            (HMACSigner(key: key, parts: [.field(.accept)], field: .authorization), .missingComponent),
            (HMACSigner(key: key, parts: [.contentDigest()], field: .authorization), .bodyReadOnce),
            (HMACSigner(key: key, parts: [.path], field: .authorization, prefix: "a\n"), .invalidConfiguration),
            (OAuth1(consumer: "c", secret: "s"), .bodyReadOnce),
        ]
        for (signer, reason) in signers {
            let connection = try connection(signer)
            let error = try await #require(throws: SigningError.self) {
                try await connection.send(.post(Self.url, fields: form, body: .once([Data("a".utf8)])))
            }
            #expect(error.reason == reason && server.requests.isEmpty)
        }
        // Content that is no form is not read.
        let other = try connection(OAuth1(consumer: "c", secret: "s"))
        #expect(try await other.send(.post(Self.url, body: .once([Data("a=b".utf8)]))).status == .ok)
    }

    @Test func `Each attempt has its own nonce`() async throws {
        let connection = try connection(OAuth1(consumer: "c", secret: "s", token: "t", realm: "a\"b", clock: clock))
        for _ in 0..<2 { _ = try await connection.send(.get(Self.url)) }
        let values = server.requests.compactMap { $0.head.headerFields[.authorization] }
        #expect(values.count == 2 && values[0].hasPrefix(#"OAuth realm="a\"b", oauth_consumer_key="c", "#))
        #expect(Set(values.compactMap { $0.firstMatch(of: /oauth_nonce="([^"]+)"/)?.output.1 }).count == 2)
    }

    /// The signatures of the RFC belong to its key, and our claims are the RFC's.
    @Test func `A proof of possession has the claims of RFC 9449`() async throws {
        let key = P256.Signing.PrivateKey()
        for row in try #require(vectors["possession"]) {
            let example = try JWT(row["proof"])
            let point = try JWT.data(row["x"]) + JWT.data(row["y"])
            #expect(example.isSigned(by: .p256(try .init(rawRepresentation: point))))
            let (url, second) = (try #require(row["url"]), try #require(example.numbers["iat"]))
            let clock = VirtualClock(date: Date(timeIntervalSince1970: Double(second)))
            let dpop = try DPoP(key: .p256(key), clock: clock)
            if let token = row["token"] {
                let origin = try Origin(url)
                _ = try await server.provingPossession(with: dpop, for: origin)
                    .authenticating(with: .field(.authorization, "DPoP \(token)"), for: origin)
                    .send(.get(url + "?page=1"))
            } else {
                _ = try await client(of: url).provingPossession(with: dpop).clientCredentials().token(replacing: nil)
            }
            let own = try JWT(server.requests.last?.head.headerFields[.proof])
            #expect(own.isSigned(by: .p256(key.publicKey)) && own.numbers == example.numbers)
            for name in ["typ", "alg", "htm", "htu", "ath", "nonce"] { #expect(own[name] == example[name], "\(name)") }
        }
    }

    @Test func `The fields of RFC 7616, and of sessions, bodies and servers of RFC 2069, are reproduced`() throws {
        for row in try #require(vectors["digest"]) {
            func part(_ name: String) throws -> String { try #require(row[name]) }
            let challenge = try #require(([.wwwAuthenticate: part("challenge")] as HTTPFields).challenges.first)
            var session = try #require(
                DigestSession(challenge, part("user"), part("password"), clientNonce: part("clientNonce")))
            let next = session.next()
            let use = try #require(next)
            let content = row["content"].map { session.hash.digest(of: $0).hexText }
            let value = try use.fieldValue(part("method"), part("target"), row["quality"], content: content)
            #expect(value == row["field"], "\(row)")
        }
    }

    @Test func `The base strings and the signatures of RFC 5849 are reproduced`() async throws {
        for row in try #require(vectors["oauth1"]) {
            var request = try Request.post(#require(row["url"]), body: Body(row["form"] ?? ""))
            request.head.method = try #require(.init(row["method"] ?? ""))
            if row["form"] != nil { request.head.headerFields[.contentType] = "application/x-www-form-urlencoded" }
            let items = QueryItem.items(of: row["items"] ?? "", plusIsBlank: true)
            let base = OAuth1.signatureBase(
                of: request.head, origin: try Origin(request.head),
                items: (try await request.formItems() ?? []) + items)
            if let expected = row["base"] { #expect(base == expected) }
            guard let key = row["key"] else { continue }
            let code = HashAlgorithm.sha1.code(for: base, by: SymmetricKey(data: Data(key.utf8)))
            #expect(code.base64EncodedString() == row["signature"])
        }
    }

    @Test func `The web signature of RFC 7515, and the codes of each hash function, are reproduced`() async throws {
        for row in try #require(vectors["webSignature"]) {
            let key = SigningKey.hmac(SymmetricKey(data: try JWT.data(row["key"])))
            let (header, payload) = (Data((row["header"] ?? "").utf8), Data((row["payload"] ?? "").utf8))
            #expect(try await key.webSignature(header: header, payload: payload) == row["text"])
        }
        for row in try #require(vectors["hmac"]) {
            let hash = try #require(HashAlgorithm(rawValue: row["hash"] ?? ""))
            let key = SymmetricKey(data: Data("Jefe".utf8))
            #expect(hash.code(for: "what do ya want for nothing?", by: key).hexText == row["code"])
        }
    }
}

/// A token that is read without the code that wrote it.
struct JWT {
    /// The members of the header and the claims.
    private let values: [String: Any]
    private let signature: Data
    private let input: Data

    init(_ text: String?) throws {
        let parts = try #require(text).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let members = try parts.prefix(2).map {
            try #require(JSONSerialization.jsonObject(with: Self.data($0)) as? [String: Any])
        }
        values = members[0].merging(members[1]) { $1 }
        (signature, input) = (try Self.data(parts[2]), Data("\(parts[0]).\(parts[1])".utf8))
    }

    subscript(_ name: String) -> String? { values[name] as? String }
    var numbers: [String: Int] { values.compactMapValues { $0 as? Int } }
    var key: [String: String]? { values["jwk"] as? [String: String] }

    func isSigned(by key: VerifyingKey) -> Bool { key.isValid(signature, of: input) }

    static func data(_ base64URL: String?) throws -> Data {
        let text = try #require(base64URL).replacing("-", with: "+").replacing("_", with: "/")
        return try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
    }
}
#endif
