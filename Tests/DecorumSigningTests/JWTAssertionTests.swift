#if Signing
import Crypto
import CryptoExtras
import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct JWTAssertionTests {
    private let clock = VirtualClock()

    private func client(_ authentication: ClientAuthentication, over stub: StubConnection) throws -> OAuthClient {
        OAuthClient(
            "app", of: try AuthorizationServer(token: "https://id.example.com/token"), authentication: authentication,
            over: stub, clock: clock)
    }

    private func tokenServer() -> StubConnection {
        StubConnection { _ in
            Response(
                status: .ok, fields: [.contentType: "application/json"],
                body: #"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#)
        }
    }

    private func form(_ stub: StubConnection) async throws -> [String: String] {
        let items = try await #require(stub.requests.last).formItems()
        return Dictionary(uniqueKeysWithValues: try #require(items).map { ($0.name, $0.value) })
    }

    // MARK: Vectors

    private static let payload = Data(
        "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}".utf8)

    /// RFC 7515, appendix A.1.
    @Test func `The example with HMAC is reproduced`() async throws {
        let key = SymmetricKey(
            data: try JWT.data(
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"))
        let text = try await JSONWebSignature.text(
            header: Data("{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}".utf8), payload: Self.payload, by: .hmac(key))
        #expect(
            text == """
                eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
                cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk
                """)
    }

    /// RFC 7515, appendix A.3: the signature of the RFC and one of ours are both of the key.
    @Test func `The example with ECDSA is verified`() async throws {
        let key = try P256.Signing.PrivateKey(
            rawRepresentation: JWT.data("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"))
        let signing = SigningKey.p256(key)
        #expect(signing.publicKey?["x"] == "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
        #expect(signing.publicKey?["y"] == "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
        let text = try await JSONWebSignature.text(
            header: Data(#"{"alg":"ES256"}"#.utf8), payload: Self.payload, by: signing)
        let parts = text.split(separator: ".")
        #expect(parts[0] == "eyJhbGciOiJFUzI1NiJ9")
        for signature in [
            String(parts[2]), "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ] {
            let input = Data("\(parts[0]).\(parts[1])".utf8)
            #expect(VerifyingKey.p256(key.publicKey).isValid(try JWT.data(signature), of: input))
        }
    }

    /// RFC 8037, appendix A.4.
    @Test func `The example with Ed25519 is verified`() async throws {
        let key = try Curve25519.Signing.PrivateKey(
            rawRepresentation: JWT.data("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"))
        let text = try await JSONWebSignature.text(
            header: Data(#"{"alg":"EdDSA"}"#.utf8), payload: Data("Example of Ed25519 signing".utf8), by: .ed25519(key))
        #expect(text.hasPrefix("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."))
        let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        let input = Data(text.split(separator: ".").prefix(2).joined(separator: ".").utf8)
        #expect(VerifyingKey.ed25519(key.publicKey).isValid(try JWT.data(signature), of: input))
    }

    // MARK: Clients

    @Test func `A client proves its identity with a new assertion for each request`() async throws {
        let (key, stub) = (P256.Signing.PrivateKey(), tokenServer())
        let authentication = try ClientAuthentication.privateKeyJWT(.p256(key), keyID: "k1", clock: clock)
        let source = try client(authentication, over: stub).clientCredentials()
        var identifiers: Set<String> = []
        for _ in 0..<3 {
            _ = try await source.token(replacing: nil)
            let form = try await form(stub)
            #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            #expect(form["client_id"] == "app" && form["grant_type"] == "client_credentials")
            let jwt = try JWT(#require(form["client_assertion"]))
            #expect(jwt.isSigned(by: .p256(key.publicKey)))
            #expect(jwt.header == ["alg": "ES256", "kid": "k1", "typ": "JWT"])
            #expect(jwt["iss"] == "app" && jwt["sub"] == "app" && jwt["aud"] == "https://id.example.com/token")
            let now = Int(clock.date.timeIntervalSince1970)
            #expect(jwt.numbers == ["iat": now, "exp": now + 300])
            identifiers.insert(try #require(jwt["jti"]))
        }
        #expect(identifiers.count == 3)
    }

    @Test func `Apple gets a client secret of ECDSA`() async throws {
        let (key, stub) = (P256.Signing.PrivateKey(), tokenServer())
        let authentication = try ClientAuthentication.appleClientSecret(
            team: "TEAM", key: .p256(key), keyID: "KEY", lifetime: .seconds(Int64.max), clock: clock)
        _ = try await client(authentication, over: stub).clientCredentials().token(replacing: nil)
        let jwt = try JWT(#require(try await form(stub)["client_secret"]))
        #expect(jwt.isSigned(by: .p256(key.publicKey)) && jwt["iss"] == "TEAM" && jwt["sub"] == "app")
        #expect(jwt["aud"] == "https://appleid.apple.com")
        let now = Int(clock.date.timeIntervalSince1970)
        #expect(jwt.numbers["exp"] == now + 15_777_000)
    }

    @Test func `A service account of Google gets tokens for assertions`() async throws {
        let (key, stub) = (try _RSA.Signing.PrivateKey(keySize: .bits2048), tokenServer())
        let file = try JSONEncoder().encode([
            "type": "service_account", "client_email": "robot@example.com", "private_key_id": "k9",
            "private_key": key.pkcs8PEMRepresentation, "token_uri": "https://oauth2.example.com/token",
        ])
        let account = try ServiceAccount(keyFile: file)
        _ = try await account.tokens(scope: "a b", for: "me@example.com", over: stub, clock: clock).token(
            replacing: nil)
        let form = try await form(stub)
        #expect(Set(form.keys) == ["grant_type", "assertion"])
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        let jwt = try JWT(#require(form["assertion"]))
        #expect(jwt.isSigned(by: .rsaV15(key.publicKey)) && jwt.header == ["alg": "RS256", "kid": "k9", "typ": "JWT"])
        #expect(jwt["iss"] == "robot@example.com" && jwt["sub"] == "me@example.com" && jwt["scope"] == "a b")
        #expect(jwt["aud"] == "https://oauth2.example.com/token")
        #expect(!dumped(account).contains("PRIVATE") && !"\(account)".contains("robot"))
    }

    // MARK: Bad input

    @Test func `Keys of the wrong kind are refused`() throws {
        let hmac = SigningKey.hmac(SymmetricKey(size: .bits256))
        #expect(throws: SigningError.self) { _ = try ClientAuthentication.privateKeyJWT(hmac) }
        let ed25519 = SigningKey.ed25519(Curve25519.Signing.PrivateKey())
        let error = try #require(throws: SigningError.self) {
            _ = try ClientAuthentication.appleClientSecret(team: "t", key: ed25519, keyID: "k")
        }
        #expect(error.reason == .wrongKey)
    }

    @Test func `A key that cannot sign sends nothing`() async throws {
        let stub = tokenServer()
        let key = SigningKey(.ecdsaP256) { _ in throw CancellationError() }
        let source = try client(try .privateKeyJWT(key), over: stub).clientCredentials()
        await #expect(throws: CancellationError.self) { _ = try await source.token(replacing: nil) }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [
        ("", SigningError.Reason.noCredentials), ("<html>", .noCredentials), (#"{"client_email":"a"}"#, .noCredentials),
        (#"{"client_email":"a","private_key":"x7Rq2LmZ"}"#, .wrongKey),
        (#"{"client_email":"a","private_key":"x","token_uri":"no url"}"#, .noCredentials),
        (String(repeating: "[", count: 1 << 20), .noCredentials),
    ])
    func `A file that is no key file is refused without its content`(
        text: String, reason: SigningError.Reason
    ) throws {
        let error = try #require(throws: SigningError.self) { _ = try ServiceAccount(keyFile: Data(text.utf8)) }
        #expect(error.reason == reason && !error.description.contains("x7Rq"))
    }
}

/// A token that is read without the code that wrote it.
struct JWT {
    let header: [String: String]
    let numbers: [String: Int]
    private let texts: [String: String]
    private let signature: Data
    private let input: Data

    init(_ text: String) throws {
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = try JSONSerialization.jsonObject(with: Self.data(parts[0])) as? [String: Any]
        self.header = try #require(header).compactMapValues { $0 as? String }
        let claims = try JSONSerialization.jsonObject(with: Self.data(parts[1])) as? [String: Any]
        texts = try #require(claims).compactMapValues { $0 as? String }
        numbers = try #require(claims).compactMapValues { $0 as? Int }
        signature = try Self.data(parts[2])
        input = Data("\(parts[0]).\(parts[1])".utf8)
    }

    subscript(_ name: String) -> String? { texts[name] }

    func isSigned(by key: VerifyingKey) -> Bool { key.isValid(signature, of: input) }

    static func data(_ base64URL: String) throws -> Data {
        let text = base64URL.replacing("-", with: "+").replacing("_", with: "/")
        return try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
    }
}
#endif
