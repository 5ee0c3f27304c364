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
/// time, which is that of the server as far as its responses tell it. `PLAINTEXT` is left out, since it sends the secrets.
public struct OAuth1: RequestSigner {
    /// The hash function of an HMAC.
    public enum Hash: Sendable, Hashable {
        /// SHA-1, which RFC 5849 demands of all servers.
        case sha1
        /// SHA-256, for servers that accept `HMAC-SHA256`.
        case sha256
    }

    /// `Authorization`.
    public let secretFields: Set<HTTPField.Name> = [.authorization]
    private let consumer: String
    private let token: String?
    private let realm: String?
    private let parameters: [String: String]
    private let method: Method
    private let skew: ClockSkew
    private let generator: any RandomGenerator

    /// Creates a signer with secrets that the server knows too (`HMAC-SHA1`, `HMAC-SHA256`).
    ///
    /// - Parameters:
    ///   - consumer: The identifier of the client.
    ///   - secret: The secret of the client.
    ///   - token: The token; nil for a request that gets one.
    ///   - tokenSecret: The secret of the token.
    ///   - hash: The hash function.
    ///   - realm: The realm, which is not signed; nil for none.
    ///   - parameters: Further parameters of the protocol, such as `oauth_callback` or `oauth_verifier`.
    ///   - clock: The clock that has the time of this machine.
    ///   - generator: The source of the nonces.
    public init(
        consumer: String, secret: String, token: String? = nil, tokenSecret: String = "", hash: Hash = .sha1,
        realm: String? = nil, parameters: [String: String] = [:], clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) {
        let key = SymmetricKey(data: Data("\(PercentCoding.encode(secret))&\(PercentCoding.encode(tokenSecret))".utf8))
        let method =
            switch hash {
            case .sha1:
                Method(name: "HMAC-SHA1") { Data(HMAC<Insecure.SHA1>.authenticationCode(for: $0, using: key)) }
            case .sha256: Method(name: "HMAC-SHA256") { Data(HMAC<SHA256>.authenticationCode(for: $0, using: key)) }
            }
        self.init(consumer, token, realm, parameters, clock, generator, method: method)
    }

    /// Creates a signer with a key of RSA (`RSA-SHA1`).
    ///
    /// It takes the parameters of the other initializer, with the private key in place of the secrets.
    public init(
        consumer: String, key: _RSA.Signing.PrivateKey, token: String? = nil, realm: String? = nil,
        parameters: [String: String] = [:], clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) {
        let method = Method(name: "RSA-SHA1") {
            try key.signature(for: Insecure.SHA1.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation
        }
        self.init(consumer, token, realm, parameters, clock, generator, method: method)
    }

    private init(
        _ consumer: String, _ token: String?, _ realm: String?, _ parameters: [String: String],
        _ clock: any DatedClock, _ generator: any RandomGenerator, method: Method
    ) {
        (self.consumer, self.token, self.realm) = (consumer, token, realm)
        (self.parameters, self.method, self.generator) = (parameters, method, generator)
        skew = ClockSkew(clock: clock)
    }

    /// Signs a request.
    ///
    /// - Parameter request: The request.
    /// - Returns: The request with the signature.
    /// - Throws: ``SigningError`` with `bodyReadOnce` for a form that can be read once, or `wrongKey`; `BodyLimitError` for a
    ///   form of more than 1 MiB, and the error that prevents reading the body.
    public func sign(_ request: Request) async throws -> Request {
        let origin = try Origin(request.head)
        let form: [QueryItem]?
        do {
            form = try await request.formItems()
        } catch is BodyReadTwiceError {
            throw SigningError(
                .bodyReadOnce, "OAuth 1.0a signs the form in the body, which can be read once. Give a body of data.")
        }
        var protocolItems = [
            ("oauth_consumer_key", consumer), ("oauth_signature_method", method.name),
            ("oauth_timestamp", String(skew.date(for: origin).wholeSeconds)),
            ("oauth_nonce", generator.bytes(16).hexText),
            ("oauth_version", "1.0"),
        ]
        if let token { protocolItems.append(("oauth_token", token)) }
        protocolItems += parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let base = Self.signatureBase(
            of: request.head, origin: origin, form: form ?? [],
            protocolItems: protocolItems.map { QueryItem($0.0, $0.1) })
        let signature: Data
        do {
            signature = try method.sign(Data(base.utf8))
        } catch {
            throw SigningError(.wrongKey, "The key cannot sign for \(method.name). Use one of at least 2048 bits.")
        }
        protocolItems.append(("oauth_signature", signature.base64EncodedString()))
        let texts =
            (realm.map { ["realm=\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""] } ?? [])
            + protocolItems.map { "\(PercentCoding.encode($0.0))=\"\(PercentCoding.encode($0.1))\"" }
        var request = request
        request.head.headerFields[.authorization] = "OAuth " + texts.joined(separator: ", ")
        return request
    }

    /// Learns the time of the server.
    ///
    /// - Parameter answer: The response.
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }

    /// The text that is signed (RFC 5849, section 3.4.1).
    static func signatureBase(
        of head: HTTPRequest, origin: Origin, form: [QueryItem], protocolItems: [QueryItem]
    ) -> String {
        let parts = (head.path ?? "/").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first.map { $0.isEmpty ? "/" : $0 } ?? "/"
        // Here a plus sign in a query is a blank, as in a form (section 3.4.1.3.1).
        let query = parts.count > 1 ? QueryItem.items(of: parts[1], plusIsBlank: true) : []
        return [
            head.method.rawValue.uppercased(), "\(origin.scheme)://\(origin.authority)\(path)",
            QueryItem.canonicalText(of: query + form + protocolItems),
        ].map { PercentCoding.encode($0) }.joined(separator: "&")
    }
}

extension OAuth1: SecretHolder {
    /// The method of the signature.
    public var description: String { "OAuth 1.0a with \(method.name)" }
}

/// A method of signatures, which holds its key.
private struct Method: Sendable {
    let name: String
    let sign: @Sendable (Data) throws -> Data
}
#endif
