#if Signing
import Crypto
import CryptoExtras
public import Decorum
public import DecorumAuthentication
public import Foundation

/// A statement about a client or a user that a key has signed, for an authorization server (RFC 7523, section 3).
///
/// Each text has its own identifier (`jti`) and its own dates. See also RFC 7519.
public struct JWTAssertion: Sendable {
    /// The longest lifetime, in seconds: half a year.
    private static let lifetimeLimit: Int64 = 15_777_000

    private let claims: [String: JSONValue]
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
        var named = claims.mapValues { JSONValue.text($0) }
        (named["iss"], named["aud"]) = (.text(issuer), .text(audience))
        named["sub"] = subject.map { .text($0) }
        self.claims = named
        (self.key, self.keyID, self.clock, self.generator) = (key, keyID, clock, generator)
        self.lifetime = min(max(1, lifetime.components.seconds), Self.lifetimeLimit)
    }

    /// Signs the statement with the dates of now.
    ///
    /// - Returns: The assertion in its compact form, which is a secret until it expires.
    /// - Throws: The error of the key.
    public func text() async throws -> String {
        var claims = claims
        let now = clock.date.wholeSeconds
        (claims["iat"], claims["exp"]) = (.number(now), .number(now + lifetime))
        claims["jti"] = .text(Data(generator.bytes(16)).base64URL)
        return try await JSONWebSignature.text(
            ["typ": .text("JWT"), "kid": keyID.map { .text($0) }].compactMapValues { $0 }, claims, by: key)
    }
}

extension JWTAssertion: SecretHolder {
    /// A fixed word.
    public var description: String { "an assertion" }
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

    /// The client secret of “Sign in with Apple”, which is signed anew for each request.
    ///
    /// - Parameters:
    ///   - team: The identifier of the team.
    ///   - key: The private key of the team, on the curve P-256.
    ///   - keyID: The identifier of the key.
    ///   - lifetime: The validity of each secret.
    ///   - clock: The clock that has the dates.
    /// - Returns: The authentication.
    /// - Throws: ``SigningError`` with `wrongKey` for a key of another algorithm.
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
    /// - Parameters:
    ///   - assertion: The assertion, which is signed anew for each token.
    ///   - scope: The scope to ask for; Google wants it as a claim of the assertion.
    /// - Returns: The source, for `Tokens`.
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
public struct ServiceAccount: Sendable {
    private struct KeyFile: Decodable {
        enum CodingKeys: String, CodingKey {
            case email = "client_email"
            case key = "private_key"
            case keyID = "private_key_id"
            case tokenURI = "token_uri"
        }

        let email: String
        let key: String
        let keyID: String?
        let tokenURI: String?
    }

    private let email: String
    private let key: SigningKey
    private let keyID: String?
    private let server: AuthorizationServer

    /// Reads a key file.
    ///
    /// - Parameter keyFile: The file in JSON, as it is downloaded; at most 64 KiB.
    /// - Throws: ``SigningError`` with `noCredentials` for another file, and `wrongKey` for a key that is not one of RSA with at
    ///   least 2048 bits.
    public init(keyFile: Data) throws(SigningError) {
        guard keyFile.count <= 64 << 10, let file = try? JSONDecoder().decode(KeyFile.self, from: keyFile),
            let server = try? AuthorizationServer(token: file.tokenURI ?? "https://oauth2.googleapis.com/token")
        else {
            throw SigningError(
                .noCredentials,
                "The file is not the key file of a service account, with `client_email` and `private_key`. Download it as JSON."
            )
        }
        guard let privateKey = try? _RSA.Signing.PrivateKey(pemRepresentation: file.key),
            let key = try? SigningKey.rsaV15(privateKey)
        else {
            throw SigningError(
                .wrongKey,
                "The member `private_key` is not a key of RSA in PEM. Download the file anew and do not edit it.")
        }
        (email, self.key, keyID, self.server) = (file.email, key, file.keyID, server)
    }

    /// Returns a source of the account's tokens.
    ///
    /// - Parameters:
    ///   - scope: The scopes, separated by blanks.
    ///   - user: The user on whose behalf the account acts; nil for the account itself.
    ///   - connection: The stack for the requests to the token endpoint.
    ///   - clock: The clock that has the dates.
    /// - Returns: The source, for `Tokens`.
    public func tokens(
        scope: String, for user: String? = nil, over connection: some Connection, clock: any DatedClock = SystemClock()
    ) -> some TokenSource {
        let assertion = JWTAssertion(
            issuer: email, subject: user, audience: server.token ?? "", key: key, keyID: keyID,
            lifetime: .seconds(3600),
            claims: ["scope": scope], clock: clock)
        // The assertion is the client's identity too.
        return OAuthClient(
            email, of: server, authentication: .parameters { _, _ in [] }, over: connection, clock: clock
        )
        .tokens(for: assertion)
    }
}

extension ServiceAccount: SecretHolder {
    /// A fixed word.
    public var description: String { "a service account" }
}

/// A value of a header or of a claim.
enum JSONValue: Encodable, Sendable {
    case text(String)
    case number(Int64)
    case members([String: String])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .members(let members): try container.encode(members)
        }
    }
}

/// The compact form of JSON Web Signatures (RFC 7515, section 7.1).
enum JSONWebSignature {
    /// A token with the algorithm of the key in its header (RFC 7519).
    static func text(
        _ header: [String: JSONValue], _ claims: [String: JSONValue], by key: SigningKey
    ) async throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var header = header
        header["alg"] = .text(key.algorithm.jwsName)
        return try await text(header: encoder.encode(header), payload: encoder.encode(claims), by: key)
    }

    static func text(header: Data, payload: Data, by key: SigningKey) async throws -> String {
        let input = "\(header.base64URL).\(payload.base64URL)"
        return "\(input).\(try await key.signature(of: Data(input.utf8)).base64URL)"
    }
}

extension Date {
    /// The whole seconds since 1970, no later than the year 9999.
    var wholeSeconds: Int64 { Int64(secondsWithinLimits) }

    /// The milliseconds since 1970, rounded down.
    var wholeMilliseconds: Int64 { Int64(secondsWithinLimits * 1000) }

    private var secondsWithinLimits: TimeInterval {
        timeIntervalSince1970.isNaN ? 0 : min(max(0, timeIntervalSince1970), 253_402_300_799)
    }
}

extension RandomGenerator {
    /// Draws bytes, a multiple of eight.
    func bytes(_ count: Int) -> [UInt8] {
        (0..<count / 8).flatMap { _ in
            let word = next()
            return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }
}
#endif
