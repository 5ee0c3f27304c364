#if Signing
import Crypto
import CryptoExtras
public import Decorum
public import DecorumAuthentication
public import Foundation

/// A statement about a client or a user that a key has signed, for an authorization server (RFC 7523, section 3).
///
/// Each text has its own identifier (`jti`) and its own dates. See also RFC 7519.
public struct JWTAssertion: Sendable, SecretHolder {
    /// A fixed word.
    public var description: String { "an assertion" }
    private let claims: [String: String]
    private let key: SigningKey
    private let keyID: String?
    private let lifetime: Int64
    private let clock: any DatedClock
    private let generator: any RandomGenerator

    /// Creates an assertion.
    ///
    /// - Parameters:
    ///   - issuer: The author (`iss`).
    ///   - subject: The client or the user that the assertion is about (`sub`); nil to name none.
    ///   - audience: The server that the assertion is for (`aud`).
    ///   - key: The key that signs.
    ///   - keyID: The name of the key (`kid`), with which the server finds its public half.
    ///   - lifetime: The validity, at least a second and at most half a year; many servers accept no more than an hour.
    ///   - claims: Further claims, such as `scope`.
    ///   - clock: The clock that has the dates.
    ///   - generator: The source of the identifiers.
    public init(
        issuer: String, subject: String?, audience: String, key: SigningKey, keyID: String? = nil,
        lifetime: Duration = .seconds(300), claims: [String: String] = [:], clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) {
        var named = claims
        (named["iss"], named["sub"], named["aud"]) = (issuer, subject, audience)
        self.claims = named
        (self.key, self.keyID, self.clock, self.generator) = (key, keyID, clock, generator)
        self.lifetime = min(max(1, lifetime.components.seconds), 15_777_000)
    }

    /// Signs the statement with the dates of now; the text is a secret until it expires.
    public func text() async throws -> String {
        var claims: [String: any Sendable] = claims
        let now = clock.date.whole()
        (claims["iat"], claims["exp"], claims["jti"]) = (now, now + lifetime, generator.identifier.base64URL)
        return try await key.webSignature(["typ": "JWT", "kid": keyID].compactMapValues { $0 }, claims)
    }
}

extension ClientAuthentication {
    /// The client signs an assertion with its private key for each request (`private_key_jwt`; RFC 7523, section 2.2).
    ///
    /// ```swift
    /// let client = OAuthClient("app", of: server, authentication: try .privateKeyJWT(.p256(key)), over: transport)
    /// ```
    ///
    /// - Parameters:
    ///   - key: The private key, whose public half is registered with the server.
    ///   - keyID: The name of the key.
    ///   - audience: The name of the server; nil for the URL of its token endpoint. Some servers demand their issuer.
    ///   - lifetime: The validity of each assertion.
    ///   - clock: The clock that has the dates.
    ///   - generator: The source of the identifiers.
    /// - Returns: The authentication.
    /// - Throws: ``SigningError`` with `wrongKey` for a key that is not private.
    public static func privateKeyJWT(
        _ key: SigningKey, keyID: String? = nil, audience: String? = nil, lifetime: Duration = .seconds(300),
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) throws(SigningError) -> ClientAuthentication {
        guard key.algorithm != .hmacSHA256 else {
            throw SigningError(
                .wrongKey,
                "A key of HMAC is known to the server too. Use the private key of which the server has the public half."
            )
        }
        return .parameters { client, server in
            guard let audience = audience ?? server.token ?? server.issuer else {
                throw SigningError(
                    .invalidConfiguration, "The assertion has no audience. Give one, or a server with a token endpoint."
                )
            }
            let assertion = JWTAssertion(
                issuer: client, subject: client, audience: audience, key: key, keyID: keyID, lifetime: lifetime,
                clock: clock, generator: generator)
            return [
                ("client_id", client),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", try await assertion.text()),
            ]
        }
    }

    /// The client secret of “Sign in with Apple”, which is signed anew for each request with the key of a team.
    ///
    /// It throws ``SigningError`` with `wrongKey` for a key that is not one of ECDSA over the curve P-256.
    public static func appleClientSecret(
        team: String, key: SigningKey, keyID: String, lifetime: Duration = .seconds(300),
        clock: any DatedClock = SystemClock()
    ) throws(SigningError) -> ClientAuthentication {
        guard key.algorithm == .ecdsaP256 else {
            throw SigningError(
                .wrongKey, "Apple accepts keys of ECDSA over P-256 only. Use the key of the downloaded file.")
        }
        return .parameters { client, _ in
            let assertion = JWTAssertion(
                issuer: team, subject: client, audience: "https://appleid.apple.com", key: key, keyID: keyID,
                lifetime: lifetime, clock: clock)
            return [("client_id", client), ("client_secret", try await assertion.text())]
        }
    }
}

extension OAuthClient {
    /// Returns a source that gets tokens for assertions (`jwt-bearer`; RFC 7523, section 2.1), and needs no user to sign in.
    ///
    /// The assertion is signed anew for each token. Google wants the scope as one of its claims.
    public func tokens(for assertion: JWTAssertion, scope: String? = nil) -> some TokenSource {
        source(startsWithoutToken: true) { _ in
            let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            return Self.parameters(grant, scope, []) + [("assertion", try await assertion.text())]
        }
    }
}

/// A service account of Google, by its key file.
///
/// ```swift
/// let account = try ServiceAccount(keyFile: Data(contentsOf: file))
/// let tokens = Tokens(in: MemoryTokenStore(), from: account.tokens(scope: scope, over: SystemConnection()))
/// ```
public struct ServiceAccount: Sendable, SecretHolder {
    private struct KeyFile: Decodable {
        let clientEmail: String
        let privateKey: String
        let privateKeyId: String?
        let tokenUri: String?
    }

    /// A fixed word.
    public var description: String { "a service account" }
    private let file: KeyFile
    private let key: SigningKey
    private let server: AuthorizationServer

    /// Reads a key file.
    ///
    /// - Parameter keyFile: The file in JSON, as it is downloaded; at most 64 KiB.
    /// - Throws: ``SigningError`` with `noCredentials` for another file, and `wrongKey` for a key that is not one of RSA with
    ///   at least 2048 bits.
    public init(keyFile: Data) throws(SigningError) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard keyFile.count <= 64 << 10, let file = try? decoder.decode(KeyFile.self, from: keyFile),
            let server = try? AuthorizationServer(token: file.tokenUri ?? "https://oauth2.googleapis.com/token")
        else {
            throw SigningError(
                .noCredentials,
                "The file is not the key file of a service account, with `client_email` and `private_key`. Download it as JSON."
            )
        }
        guard let privateKey = try? _RSA.Signing.PrivateKey(pemRepresentation: file.privateKey),
            let key = try? SigningKey.rsaV15(privateKey)
        else {
            throw SigningError(
                .wrongKey,
                "The member `private_key` is not a key of RSA in PEM. Download the file anew and do not edit it.")
        }
        (self.file, self.key, self.server) = (file, key, server)
    }

    /// Returns a source of tokens for the account, or for a user on whose behalf it acts.
    ///
    /// The scopes are separated by blanks. The connection is the stack for the requests to the token endpoint.
    public func tokens(
        scope: String, for user: String? = nil, over connection: some Connection, clock: any DatedClock = SystemClock()
    ) -> some TokenSource {
        let assertion = JWTAssertion(
            issuer: file.clientEmail, subject: user, audience: server.token ?? "", key: key, keyID: file.privateKeyId,
            lifetime: .seconds(3600), claims: ["scope": scope], clock: clock)
        // The assertion is the client's identity too.
        let identity = ClientAuthentication.parameters { _, _ in [] }
        return OAuthClient(file.clientEmail, of: server, authentication: identity, over: connection, clock: clock)
            .tokens(for: assertion)
    }
}

extension SigningKey {
    /// The compact form of a signature over claims (RFC 7515, section 7.1; RFC 7519).
    func webSignature(_ header: [String: any Sendable], _ claims: [String: any Sendable]) async throws -> String {
        let named = header.merging(["alg": algorithm.jwsName]) { $1 }
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        return try await webSignature(
            header: JSONSerialization.data(withJSONObject: named, options: options),
            payload: JSONSerialization.data(withJSONObject: claims, options: options))
    }

    func webSignature(header: Data, payload: Data) async throws -> String {
        let input = "\(header.base64URL).\(payload.base64URL)"
        return "\(input).\(try await signature(of: Data(input.utf8)).base64URL)"
    }
}

extension Date {
    /// The whole seconds or other units since 1970, no later than the year 9999.
    func whole(unitsPerSecond: Double = 1) -> Int64 {
        Int64(unitsPerSecond * (timeIntervalSince1970.isNaN ? 0 : min(max(0, timeIntervalSince1970), 253_402_300_799)))
    }
}

extension RandomGenerator {
    /// Draws 128 bits.
    var identifier: Data {
        Data([next(), next()].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
    }
}
#endif
