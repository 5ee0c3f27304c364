#if Signing
import Crypto
import CryptoExtras
import DecorumAuthentication
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct JWTAssertionTests {
    private let clock = VirtualClock()
    private let server = StubConnection { _ in
        Response(status: .ok, body: #"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#)
    }

    private func source(_ authentication: ClientAuthentication) throws -> some TokenSource {
        OAuthClient(
            "app", of: try AuthorizationServer(token: "https://id.example.com/token"), authentication: authentication,
            over: server, clock: clock
        ).clientCredentials()
    }

    /// The parameters that the server has got last.
    private func form() async throws -> [String: String] {
        let items = try await #require(server.requests.last).formItems()
        return Dictionary(uniqueKeysWithValues: try #require(items).map { ($0.name, $0.value) })
    }

    private func expect(_ jwt: JWT, _ header: [String: String], _ claims: [String: String], lifetime: Int) {
        let now = Int(clock.date.timeIntervalSince1970)
        #expect(jwt.header as? [String: String] == header)
        #expect(jwt.claims["iat"] as? Int == now && jwt.claims["exp"] as? Int == now + lifetime)
        for (name, value) in claims { #expect(jwt[name] == value) }
    }

    @Test func `A client proves its identity with a new assertion for each request`() async throws {
        let key = P256.Signing.PrivateKey()
        let source = try source(.privateKeyJWT(.p256(key), keyID: "k1", clock: clock))
        var identifiers: Set<String> = []
        for _ in 0..<3 {
            _ = try await source.token(replacing: nil)
            let form = try await form()
            #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            #expect(form["client_id"] == "app" && form["grant_type"] == "client_credentials")
            let jwt = try JWT(form["client_assertion"])
            #expect(jwt.isSigned(by: .p256(key.publicKey)))
            let claims = ["iss": "app", "sub": "app", "aud": "https://id.example.com/token"]
            expect(jwt, ["alg": "ES256", "kid": "k1", "typ": "JWT"], claims, lifetime: 300)
            identifiers.insert(try #require(jwt["jti"]))
        }
        #expect(identifiers.count == 3)
    }

    @Test func `Apple gets a client secret, and Google an assertion of a service account`() async throws {
        let key = P256.Signing.PrivateKey()
        let apple = try source(
            .appleClientSecret(
                team: "TEAM", key: .p256(key), keyID: "KEY", lifetime: .seconds(Int64.max), clock: clock))
        _ = try await apple.token(replacing: nil)
        let secret = try JWT(try await form()["client_secret"])
        #expect(secret.isSigned(by: .p256(key.publicKey)))
        let claims = ["iss": "TEAM", "sub": "app", "aud": "https://appleid.apple.com"]
        expect(secret, ["alg": "ES256", "kid": "KEY", "typ": "JWT"], claims, lifetime: 15_777_000)

        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let file = try JSONEncoder().encode([
            "client_email": "robot@example.com", "private_key_id": "k9", "private_key": rsa.pkcs8PEMRepresentation,
            "token_uri": "https://oauth2.example.com/token",
        ])
        let account = try ServiceAccount(keyFile: file)
        _ = try await account.tokens(scope: "a b", for: "me@example.com", over: server, clock: clock)
            .token(replacing: nil)
        let form = try await form()
        #expect(Set(form.keys) == ["grant_type", "assertion"])
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        let jwt = try JWT(form["assertion"])
        #expect(jwt.isSigned(by: .rsaV15(rsa.publicKey)) && String(reflecting: account) == "a service account")
        let expected = [
            "iss": "robot@example.com", "sub": "me@example.com", "scope": "a b",
            "aud": "https://oauth2.example.com/token",
        ]
        expect(jwt, ["alg": "RS256", "kid": "k9", "typ": "JWT"], expected, lifetime: 3600)
    }

    @Test func `Keys of the wrong kind are refused, and a key that cannot sign sends nothing`() async throws {
        for make in [
            { _ = try ClientAuthentication.privateKeyJWT(.hmac(SymmetricKey(size: .bits256))) },
            { _ = try ClientAuthentication.appleClientSecret(team: "t", key: .ed25519(.init()), keyID: "k") },
        ] {
            #expect(try #require(throws: SigningError.self, performing: make).reason == .wrongKey)
        }
        let source = try source(.privateKeyJWT(SigningKey(.ecdsaP256) { _ in throw CancellationError() }))
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
}
#endif
