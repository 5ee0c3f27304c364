public import Decorum
public import Foundation

/// A request for the consent of a user: the app shows its ``url`` in a browser, and gives the URL that comes back to
/// ``OAuthClient/token(from:for:)``.
///
/// ```swift
/// let proofKey = try ProofKey(sha256: { SHA256.hash(data: $0) })
/// let request = try client.authorizationRequest(redirectURI: "com.example.app:/signed-in", proofKey: proofKey)
/// let callback = try await browser.open(request.url)
/// try await tokens.signIn(with: client.token(from: callback, for: request))
/// ```
///
/// Use each request once. See RFC 6749, section 4.1, and RFC 7636.
public struct AuthorizationRequest: Sendable {
    /// The URL to show to the user.
    public internal(set) var url: URL
    /// The URI of the app to which the browser is redirected.
    public let redirectURI: String
    /// The random text that tells the answer to this request from forged ones.
    let state: String
    let proofKey: ProofKey
    let resources: [String]
    let parameters: [(name: String, value: String)]

    /// The code in the URL that the browser was redirected to.
    ///
    /// - Throws: ``AuthorizationError`` for an answer to another request or of another server, ``OAuthError`` for a refusal.
    func code(from callback: URL, of server: AuthorizationServer) throws -> String {
        let text = callback.absoluteString
        let parts = text.split(separator: "#", maxSplits: 1)[0].split(separator: "?", maxSplits: 1)
        guard parts.first.map(String.init) == redirectURI.split(separator: "?", maxSplits: 1).first.map(String.init)
        else { throw AuthorizationError(.otherRedirectURI) }
        guard let values = FormText.members(parts.count > 1 ? parts[1] : "") else {
            throw AuthorizationError(.malformed)
        }
        guard values["state"] == state else { throw AuthorizationError(.otherState) }
        if let issuer = values["iss"] {
            guard server.issuer?.utf8.elementsEqual(issuer.utf8) == true else {
                throw AuthorizationError(.otherIssuer)
            }
        } else if server.namesIssuerInAnswers {
            throw AuthorizationError(.otherIssuer)
        }
        if let code = values["error"] {
            throw OAuthError(.init(code), serverDescription: values["error_description"])
        }
        guard let code = values["code"], !code.isEmpty else { throw AuthorizationError(.malformed) }
        return code
    }
}

extension AuthorizationRequest: SecretHolder {
    /// A fixed word, since the URL has the state.
    public var description: String { "an authorization request" }
}

/// A sign-in cannot go on: the answer of the browser, an endpoint, metadata or a proof key cannot be used.
public struct AuthorizationError: DescribableError, Hashable {
    /// The reason, as an open set.
    public struct Reason: Sendable, Hashable {
        let failure: String
        let advice: String

        init(_ failure: String, _ advice: String = "Let the user start again.") {
            (self.failure, self.advice) = (failure, advice)
        }

        /// The URL of the browser is not the redirect URI of the request.
        public static let otherRedirectURI = Reason("The browser has come to another URL than that of the request")
        /// The state is missing or differs, so another site may have made the URL.
        public static let otherState = Reason("The URL from the browser has another state than the request")
        /// The issuer is missing or differs, so another server may have made the URL (RFC 9207).
        public static let otherIssuer = Reason("The URL from the browser names another issuer than the server")
        /// A parameter is missing, is there twice, or cannot be decoded.
        public static let malformed = Reason(
            "The URL from the browser lacks a parameter, has it twice, or has one that cannot be decoded")
        /// A URL to which secrets would be sent without encryption.
        public static let insecureEndpoint = Reason(
            "An endpoint of OAuth has no encryption", "Use its https URL; http is for this machine only.")
        /// The authorization server has no URL for a request.
        public static let missingEndpoint = Reason(
            "The authorization server has no such endpoint",
            "Give its URL to `AuthorizationServer`, or use another grant.")
        /// The metadata name another issuer or resource than the one that was asked.
        public static let otherMetadata = Reason(
            "The metadata belong to another server", "Write the name exactly as the server does.")
        /// No answer has metadata.
        public static let noMetadata = Reason(
            "The server has no metadata of OAuth at any well-known path",
            "Give the endpoints to `AuthorizationServer` instead.")
        /// The digest of a proof key has another number of bytes than 32.
        public static let invalidProofKey = Reason(
            "The digest of a proof key of PKCE has 32 bytes", "Give the function of SHA-256.")
    }

    /// The reason.
    public let reason: Reason
    /// The endpoint, its server, or the name that the metadata have; nil for other reasons.
    public let subject: String?

    init(_ reason: Reason, _ subject: String? = nil) {
        (self.reason, self.subject) = (reason, subject)
    }

    /// The reason, and the way to mend it; never the URL from the browser.
    public var description: String {
        // In quotation marks and cut off, since it may be text of others.
        "\(reason.failure)\(subject.map { ": \(String($0.prefix(200)).debugDescription)" } ?? ""). \(reason.advice)"
    }
}

/// A secret that proves that the app which gets an authorization code is the one that asked for it (PKCE).
///
/// The challenge is the SHA-256 of the verifier. Give the function of CryptoKit on Apple's systems, and that of swift-crypto
/// or another library elsewhere.
///
/// See RFC 7636; only the method `S256` is supported.
public struct ProofKey: Sendable, Hashable {
    /// The secret, which is sent with the code.
    let verifier: String
    /// The hash of the secret, which is sent with the authorization request.
    let challenge: String

    /// Creates a key with 256 random bits.
    ///
    /// - Parameters:
    ///   - generator: The source of the random bits; they must be unpredictable.
    ///   - sha256: Computes the SHA-256 of some bytes.
    /// - Throws: ``AuthorizationError`` if the function gives another number of bytes than 32.
    public init<Digest: Sequence<UInt8>>(
        generator: any RandomGenerator = SystemGenerator(), sha256: (Data) throws -> Digest
    ) throws {
        try self.init(verifier: Self.randomText(using: generator), sha256: sha256)
    }

    init<Digest: Sequence<UInt8>>(verifier: String, sha256: (Data) throws -> Digest) throws {
        let digest = Data(try sha256(Data(verifier.utf8)))
        guard digest.count == 32 else { throw AuthorizationError(.invalidProofKey) }
        self.verifier = verifier
        challenge = digest.base64URL
    }

    /// 256 random bits in 43 characters.
    static func randomText(using generator: any RandomGenerator) -> String {
        let words = (0..<4).map { _ in generator.next() }
        return Data(words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }).base64URL
    }
}

extension ProofKey: SecretHolder {
    /// A fixed word.
    public var description: String { "a proof key" }
}

extension Data {
    /// The bytes in the alphabet for URLs, without padding (RFC 4648, section 5).
    package var base64URL: String {
        String(base64EncodedString().prefix { $0 != "=" })
            .replacing("+", with: "-").replacing("/", with: "_")
    }
}
