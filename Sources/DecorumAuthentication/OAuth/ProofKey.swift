public import Decorum
public import Foundation

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
