#if Signing
import Crypto
public import CryptoExtras
public import Decorum
import Foundation
public import HTTPTypes

/// Signs requests with OAuth 1.0a (RFC 5849), in the `Authorization` field.
///
/// ```swift
/// let signer = OAuth1(consumer: "key", secret: consumerSecret, token: token, tokenSecret: tokenSecret)
/// let connection = SystemConnection().authenticating(with: .signer(signer), for: api)
/// ```
///
/// The signature covers the method, the URL, its query, and the content of a form. Each attempt has its own nonce and its own
/// time, which follows the server's clock as far as its responses tell it. `PLAINTEXT` is left out, since it sends the secrets.
public struct OAuth1: RequestSigner, SecretHolder {
    /// The method of the signature.
    public var description: String { "OAuth 1.0a with \(method)" }
    /// `Authorization`.
    public let secretFields: Set<HTTPField.Name> = [.authorization]
    private let consumer: String
    private let token: String?
    private let realm: String?
    private let parameters: [String: String]
    private let skew: ClockSkew
    private let generator: any RandomGenerator
    private var method: String
    private var signature: @Sendable (_ base: String) throws -> Data

    /// Creates a signer with secrets that the server knows too (`HMAC-SHA1`, `HMAC-SHA256`).
    ///
    /// - Parameters:
    ///   - consumer: The identifier of the client.
    ///   - secret: The secret of the client.
    ///   - token: The token; nil for a request that gets one.
    ///   - tokenSecret: The secret of the token.
    ///   - hash: The hash function of the HMAC; RFC 5849 demands SHA-1 of all servers.
    ///   - realm: The realm, which is not signed; nil for none.
    ///   - parameters: Further parameters of the protocol, such as `oauth_callback` or `oauth_verifier`.
    ///   - clock: The clock that has the time of this machine.
    ///   - generator: The source of the nonces.
    public init(
        consumer: String, secret: String, token: String? = nil, tokenSecret: String = "", hash: HashAlgorithm = .sha1,
        realm: String? = nil, parameters: [String: String] = [:], clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) {
        let key = SymmetricKey(data: Data("\(PercentCoding.encode(secret))&\(PercentCoding.encode(tokenSecret))".utf8))
        (self.consumer, self.token, self.realm) = (consumer, token, realm)
        (self.parameters, self.generator) = (parameters, generator)
        skew = ClockSkew(clock: clock)
        method = "HMAC-\(hash.rawValue.replacing("-", with: ""))"
        signature = { hash.code(for: $0, by: key) }
    }

    /// Creates a signer with a key of RSA (`RSA-SHA1`).
    ///
    /// It takes the parameters of the other initializer, with the private key in place of the secrets.
    public init(
        consumer: String, key: _RSA.Signing.PrivateKey, token: String? = nil, realm: String? = nil,
        parameters: [String: String] = [:], clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) {
        self.init(
            consumer: consumer, secret: "", token: token, realm: realm, parameters: parameters, clock: clock,
            generator: generator)
        method = "RSA-SHA1"
        signature = {
            let digest = Insecure.SHA1.hash(data: Data($0.utf8))
            return try key.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }

    /// Signs a request.
    ///
    /// It throws ``SigningError`` with `bodyReadOnce` for a form that can be read once, `BodyLimitError` for a form of more
    /// than 1 MiB, and the error that prevents reading the body.
    public func sign(_ request: Request) async throws -> Request {
        let origin = try Origin(request.head)
        let form: [QueryItem]?
        do {
            form = try await request.formItems()
        } catch is BodyReadTwiceError {
            throw SigningError.bodyReadOnce
        }
        var protocolItems = [
            ("oauth_consumer_key", consumer), ("oauth_signature_method", method),
            ("oauth_timestamp", String(skew.date(for: origin).whole())),
            ("oauth_nonce", generator.identifier.hexText),
            ("oauth_version", "1.0"),
        ]
        if let token { protocolItems.append(("oauth_token", token)) }
        protocolItems += parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let base = Self.signatureBase(
            of: request.head, origin: origin, items: (form ?? []) + protocolItems.map { QueryItem($0.0, $0.1) })
        protocolItems.append(("oauth_signature", try signature(base).base64EncodedString()))
        let texts =
            (realm.map { ["realm=\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""] } ?? [])
            + protocolItems.map { "\(PercentCoding.encode($0.0))=\"\(PercentCoding.encode($0.1))\"" }
        var request = request
        request.head.headerFields[.authorization] = "OAuth " + texts.joined(separator: ", ")
        return request
    }

    /// Learns the time of the server.
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }

    /// The text that is signed (RFC 5849, section 3.4.1).
    static func signatureBase(of head: HTTPRequest, origin: Origin, items: [QueryItem]) -> String {
        let parts = (head.path ?? "/").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first.map { $0.isEmpty ? "/" : $0 } ?? "/"
        // Here a plus sign in a query is a blank, as in a form (section 3.4.1.3.1).
        let query = parts.count > 1 ? QueryItem.items(of: parts[1], plusIsBlank: true) : []
        return [
            head.method.rawValue.uppercased(), "\(origin.scheme)://\(origin.authority)\(path)",
            QueryItem.canonicalText(of: query + items),
        ].map { PercentCoding.encode($0) }.joined(separator: "&")
    }
}
#endif
