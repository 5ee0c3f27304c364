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
    public let url: URL
    /// The URI of the app to which the browser is redirected.
    public let redirectURI: String
    /// The random text that tells the answer to this request from forged ones.
    public let state: String
    let proofKey: ProofKey
    let resources: [String]
    let parameters: [(name: String, value: String)]

    /// The code in the URL that the browser was redirected to.
    ///
    /// - Parameters:
    ///   - callback: The URL.
    ///   - server: The server that was asked.
    /// - Returns: The code.
    /// - Throws: ``AuthorizationAnswerError`` for an answer to another request or of another server, ``OAuthError`` for a
    ///   refusal.
    func code(from callback: URL, of server: AuthorizationServer) throws -> String {
        let text = callback.absoluteString
        let parts = text.split(separator: "#", maxSplits: 1)[0].split(separator: "?", maxSplits: 1)
        guard parts.first.map(String.init) == redirectURI.split(separator: "?", maxSplits: 1).first.map(String.init)
        else { throw AuthorizationAnswerError(.otherRedirectURI) }
        var values: [String: String] = [:]
        for item in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormText.decoded(pair[0]), let value = FormText.decoded(pair.count > 1 ? pair[1] : "")
            else {
                throw AuthorizationAnswerError(.malformed)
            }
            // A second value could be that of an attacker (RFC 6749, section 3.1).
            guard values.updateValue(value, forKey: name) == nil else { throw AuthorizationAnswerError(.malformed) }
        }
        guard values["state"] == state else { throw AuthorizationAnswerError(.otherState) }
        if let issuer = values["iss"] {
            guard server.issuer?.utf8.elementsEqual(issuer.utf8) == true else {
                throw AuthorizationAnswerError(.otherIssuer)
            }
        } else if server.namesIssuerInAnswers {
            throw AuthorizationAnswerError(.otherIssuer)
        }
        if let code = values["error"] {
            throw OAuthError(.init(code), serverDescription: values["error_description"])
        }
        guard let code = values["code"], !code.isEmpty else { throw AuthorizationAnswerError(.malformed) }
        return code
    }
}

extension AuthorizationRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed word, since the URL has the state.
    public var description: String { "an authorization request" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The URL that came back from the browser is no answer to the request.
public struct AuthorizationAnswerError: DescribableError, Hashable {
    /// The reason, as an open set.
    public struct Reason: Sendable, Hashable {
        let sentence: String

        /// The URL is not the redirect URI of the request.
        public static let otherRedirectURI = Reason(sentence: "it is not at the redirect URI of the request")
        /// The state is missing, or is another one.
        public static let otherState = Reason(
            sentence: "its state is not that of the request, so another site may have made it")
        /// The issuer is missing, or is another one (RFC 9207).
        public static let otherIssuer = Reason(
            sentence: "its issuer is not the server of the request, so another server may have made it")
        /// A parameter is missing, is there twice, or cannot be decoded.
        public static let malformed = Reason(sentence: "a parameter is missing, is there twice, or cannot be decoded")
    }

    /// The reason.
    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    /// The reason, and the way to mend it; never the URL.
    public var description: String {
        "The URL from the browser is no answer to this request: \(reason.sentence). Let the user start again."
    }
}

/// A secret that proves that the app which gets an authorization code is the one that asked for it (PKCE).
///
/// The challenge is the SHA-256 of the verifier. Give the function of CryptoKit on Apple's systems, and that of swift-crypto
/// or another library elsewhere:
///
/// ```swift
/// let proofKey = try ProofKey(sha256: { SHA256.hash(data: $0) })
/// ```
///
/// See RFC 7636; only the method `S256` is supported.
public struct ProofKey: Sendable, Hashable {
    /// The secret, which is sent with the code.
    public let verifier: String
    /// The hash of the secret, which is sent with the authorization request.
    public let challenge: String

    /// Creates a key with 256 random bits.
    ///
    /// - Parameters:
    ///   - generator: The source of the random bits; they must be unpredictable.
    ///   - sha256: Computes the SHA-256 of some bytes.
    /// - Throws: ``ProofKeyError`` where the function gives another number of bytes than 32.
    public init<Digest: Sequence<UInt8>>(
        generator: any RandomGenerator = SystemGenerator(), sha256: (Data) throws -> Digest
    ) throws {
        try self.init(verifier: RandomText.make(using: generator), sha256: sha256)
    }

    /// Creates a key with a verifier of one's own.
    ///
    /// - Parameters:
    ///   - verifier: 43 to 128 letters, digits or `-._~`, which are random.
    ///   - sha256: Computes the SHA-256 of some bytes.
    /// - Throws: ``ProofKeyError`` for another verifier, and where the function gives another number of bytes than 32.
    public init<Digest: Sequence<UInt8>>(verifier: String, sha256: (Data) throws -> Digest) throws {
        let isUnreserved = verifier.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "-._~".utf8.contains(byte)
        }
        guard isUnreserved, (43...128).contains(verifier.utf8.count) else { throw ProofKeyError(.verifier) }
        let digest = Data(try sha256(Data(verifier.utf8)))
        guard digest.count == 32 else { throw ProofKeyError(.digest) }
        self.verifier = verifier
        challenge = digest.base64URLText
    }
}

extension ProofKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed word.
    public var description: String { "a proof key" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A proof key cannot be made.
public struct ProofKeyError: DescribableError, Hashable {
    /// The part that cannot be used.
    public enum Part: Sendable, Hashable {
        /// The verifier is too short, too long, or has other characters.
        case verifier
        /// The function is not SHA-256.
        case digest
    }

    /// The part that cannot be used.
    public let part: Part

    init(_ part: Part) { self.part = part }

    /// The part, and its form.
    public var description: String {
        switch part {
        case .verifier: "A verifier of PKCE has 43 to 128 letters, digits or any of `-._~`."
        case .digest: "The digest of a verifier of PKCE has 32 bytes; give the function of SHA-256."
        }
    }
}

/// Random text for verifiers and states.
enum RandomText {
    /// 256 random bits in 43 characters.
    static func make(using generator: any RandomGenerator) -> String {
        let words = (0..<4).map { _ in generator.next() }
        return Data(words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }).base64URLText
    }
}

extension Data {
    /// The bytes in the alphabet for URLs, without padding (RFC 4648, section 5).
    fileprivate var base64URLText: String {
        String(base64EncodedString().prefix { $0 != "=" })
            .replacing("+", with: "-").replacing("/", with: "_")
    }
}
