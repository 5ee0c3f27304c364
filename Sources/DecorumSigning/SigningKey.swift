#if Signing
public import Crypto
public import CryptoExtras
public import Decorum
import DecorumAuthentication
public import Foundation

/// An algorithm of signatures, by its name in the registry of RFC 9421, section 6.2.2.
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// HMAC with SHA-256.
    case hmacSHA256 = "hmac-sha256"
    /// EdDSA over the curve edwards25519.
    case ed25519 = "ed25519"
    /// ECDSA over the curve P-256, with SHA-256.
    case ecdsaP256 = "ecdsa-p256-sha256"
    /// ECDSA over the curve P-384, with SHA-384.
    case ecdsaP384 = "ecdsa-p384-sha384"
    /// RSASSA-PSS with SHA-512.
    case rsaPSS = "rsa-pss-sha512"
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rsaV15 = "rsa-v1_5-sha256"

    /// The name of the algorithm in a JSON Web Signature (RFC 7518, section 3.1; RFC 8037).
    var jwsName: String {
        switch self {
        case .hmacSHA256: "HS256"
        case .ed25519: "EdDSA"
        case .ecdsaP256: "ES256"
        case .ecdsaP384: "ES384"
        case .rsaPSS: "PS512"
        case .rsaV15: "RS256"
        }
    }
}

/// A hash function of a digest or of an HMAC; MD5 and SHA-1 are for old servers.
public enum HashAlgorithm: String, Sendable {
    /// MD5.
    case md5 = "MD5"
    /// SHA-1.
    case sha1 = "SHA-1"
    /// SHA-256.
    case sha256 = "SHA-256"
    /// SHA-384.
    case sha384 = "SHA-384"
    /// SHA-512.
    case sha512 = "SHA-512"
    /// SHA-512/256.
    case sha512t256 = "SHA-512-256"

    var function: any HashFunction {
        switch self {
        case .md5: Insecure.MD5()
        case .sha1: Insecure.SHA1()
        case .sha256: SHA256()
        case .sha384: SHA384()
        case .sha512: SHA512()
        case .sha512t256: SHA512256()
        }
    }

    func digest(of text: String) -> Data {
        var function = function
        function.update(data: Data(text.utf8))
        return function.digest
    }

    @concurrent func digest(of body: Body) async throws -> Data {
        guard body.replay > .once || body.isEmpty else { throw SigningError.bodyReadOnce }
        var function = function
        for try await chunk in body {
            try Task.checkCancellation()
            function.update(data: chunk)
        }
        return function.digest
    }

    func code(for text: String, by key: SymmetricKey) -> Data {
        function.code(for: Data(text.utf8), by: key)
    }
}

extension Body {
    /// The SHA-256 of content that can be read several times; up to 64 KiB are hashed where the caller runs, in about 0.1 ms.
    func sha256() async throws -> Data {
        if let bytes, bytes.count <= 64 << 10 { return Data(SHA256.hash(data: bytes)) }
        return try await HashAlgorithm.sha256.digest(of: self)
    }
}

extension HashFunction {
    var digest: Data { Data(Array(finalize())) }

    fileprivate func code(for data: Data, by key: SymmetricKey) -> Data {
        Data(HMAC<Self>.authenticationCode(for: data, using: key))
    }
}

/// A key that signs: one of swift-crypto's, or a closure that has another place sign, such as a Secure Enclave or an HSM.
///
/// A signature of ECDSA is the two numbers one after the other, not DER (RFC 9421, section 3.3.4; RFC 7518, section 3.4).
public struct SigningKey: Sendable, SecretHolder {
    /// The algorithm.
    public let algorithm: SignatureAlgorithm
    /// The algorithm.
    public var description: String { "a key for \(algorithm.rawValue)" }
    /// The public members of a JSON Web Key (RFC 7517), without which DPoP sends nothing.
    let publicKey: [String: String]?
    private let sign: @Sendable (Data) async throws -> Data

    /// Creates a key that another place holds.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm.
    ///   - publicKey: The members of a JSON Web Key, such as `kty`, `crv`, `x` and `y`, of which DPoP sends the public ones.
    ///   - sign: Signs bytes, by hashing them as the algorithm demands; if it throws, nothing is sent.
    public init(
        _ algorithm: SignatureAlgorithm, publicKey: [String: String]? = nil,
        sign: @escaping @Sendable (Data) async throws -> Data
    ) {
        self.algorithm = algorithm
        self.publicKey = publicKey?.filter { ["kty", "crv", "x", "y", "n", "e"].contains($0.key) }
        self.sign = sign
    }

    /// HMAC with SHA-256.
    public static func hmac(_ key: SymmetricKey) -> SigningKey {
        SigningKey(.hmacSHA256) { [start = HMAC<SHA256>(key: key)] in Data(start.code(for: $0)) }
    }

    /// EdDSA over the curve edwards25519.
    public static func ed25519(_ key: Curve25519.Signing.PrivateKey) -> SigningKey {
        let publicKey = ["kty": "OKP", "crv": "Ed25519", "x": key.publicKey.rawRepresentation.base64URL]
        return SigningKey(.ed25519, publicKey: publicKey) { try key.signature(for: $0) }
    }

    /// ECDSA over the curve P-256, with SHA-256.
    public static func p256(_ key: P256.Signing.PrivateKey) -> SigningKey {
        SigningKey(.ecdsaP256, publicKey: .point(key.publicKey.rawRepresentation, on: "P-256")) {
            try key.signature(for: $0).rawRepresentation
        }
    }

    /// ECDSA over the curve P-384, with SHA-384.
    public static func p384(_ key: P384.Signing.PrivateKey) -> SigningKey {
        SigningKey(.ecdsaP384, publicKey: .point(key.publicKey.rawRepresentation, on: "P-384")) {
            try key.signature(for: $0).rawRepresentation
        }
    }

    /// RSASSA-PSS with SHA-512.
    public static func rsaPSS(_ key: _RSA.Signing.PrivateKey) throws -> SigningKey {
        SigningKey(.rsaPSS, publicKey: try .rsa(key.publicKey)) {
            try key.signature(for: SHA512.hash(data: $0), padding: .PSS).rawRepresentation
        }
    }

    /// RSASSA-PKCS1-v1_5 with SHA-256.
    public static func rsaV15(_ key: _RSA.Signing.PrivateKey) throws -> SigningKey {
        SigningKey(.rsaV15, publicKey: try .rsa(key.publicKey)) {
            try key.signature(for: SHA256.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }

    func signature(of data: Data) async throws -> Data { try await sign(data) }
}

/// A key that checks signatures.
public struct VerifyingKey: Sendable, SecretHolder {
    /// The algorithm.
    public let algorithm: SignatureAlgorithm
    /// The algorithm.
    public var description: String { "a key for \(algorithm.rawValue)" }
    private let check: @Sendable (_ signature: Data, _ data: Data) throws -> Bool

    /// HMAC with SHA-256.
    public static func hmac(_ key: SymmetricKey) -> VerifyingKey {
        VerifyingKey(.hmacSHA256) { HMAC<SHA256>.isValidAuthenticationCode($0, authenticating: $1, using: key) }
    }

    /// EdDSA over the curve edwards25519.
    public static func ed25519(_ key: Curve25519.Signing.PublicKey) -> VerifyingKey {
        VerifyingKey(.ed25519) { key.isValidSignature($0, for: $1) }
    }

    /// ECDSA over the curve P-256, with SHA-256.
    public static func p256(_ key: P256.Signing.PublicKey) -> VerifyingKey {
        VerifyingKey(.ecdsaP256) { key.isValidSignature(try .init(rawRepresentation: $0), for: $1) }
    }

    /// ECDSA over the curve P-384, with SHA-384.
    public static func p384(_ key: P384.Signing.PublicKey) -> VerifyingKey {
        VerifyingKey(.ecdsaP384) { key.isValidSignature(try .init(rawRepresentation: $0), for: $1) }
    }

    /// RSASSA-PSS with SHA-512.
    public static func rsaPSS(_ key: _RSA.Signing.PublicKey) -> VerifyingKey {
        VerifyingKey(.rsaPSS) {
            key.isValidSignature(.init(rawRepresentation: $0), for: SHA512.hash(data: $1), padding: .PSS)
        }
    }

    /// RSASSA-PKCS1-v1_5 with SHA-256.
    public static func rsaV15(_ key: _RSA.Signing.PublicKey) -> VerifyingKey {
        VerifyingKey(.rsaV15) {
            key.isValidSignature(.init(rawRepresentation: $0), for: SHA256.hash(data: $1), padding: .insecurePKCS1v1_5)
        }
    }

    private init(_ algorithm: SignatureAlgorithm, check: @escaping @Sendable (Data, Data) throws -> Bool) {
        (self.algorithm, self.check) = (algorithm, check)
    }

    func isValid(_ signature: Data, of data: Data) -> Bool { (try? check(signature, data)) ?? false }
}

extension [String: String] {
    /// The JSON Web Key of a point of a curve, whose two coordinates have the same length (RFC 7518, section 6.2.1).
    fileprivate static func point(_ bytes: Data, on curve: String) -> [String: String] {
        let half = bytes.count / 2
        return ["kty": "EC", "crv": curve, "x": bytes.prefix(half).base64URL, "y": bytes.suffix(half).base64URL]
    }

    /// The JSON Web Key of a key of RSA (RFC 7518, section 6.3.1).
    fileprivate static func rsa(_ key: _RSA.Signing.PublicKey) throws -> [String: String] {
        let numbers = try key.getKeyPrimitives()
        return ["kty": "RSA", "n": numbers.modulus.base64URL, "e": numbers.publicExponent.base64URL]
    }
}

extension HMAC {
    /// The code for data after those so far; to start with the key alone saves half of the blocks of a short text.
    func code(for data: some DataProtocol) -> MAC {
        var code = self
        code.update(data: data)
        return code.finalize()
    }
}

extension Sequence<UInt8> {
    /// The bytes in lower-case hexadecimal digits.
    var hexText: String {
        func digit(_ value: UInt8) -> UInt8 { value + UInt8(ascii: value < 10 ? "0" : "W") }
        var text: [UInt8] = []
        // A digest does not tell its count; most have 32 bytes.
        text.reserveCapacity(Swift.max(64, 2 * underestimatedCount))
        for byte in self {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Joins texts, in a fraction of the time of interpolation.
    @inline(__always) init(joining texts: String...) {
        self = []
        reserveCapacity(384)
        for text in texts { self += text.utf8 }
    }

    @inline(__always) mutating func write(_ texts: String...) { for text in texts { self += text.utf8 } }
}
#endif
