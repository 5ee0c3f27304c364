#if Signing
import Crypto
public import Decorum
import Foundation

extension SigV4 {
    /// Creates a signer of AWS Signature Version 4A, whose signatures several regions accept, as multi-region access points of
    /// S3 demand it.
    ///
    /// ```swift
    /// let signer = SigV4(service: "s3", regions: ["*"], credentials: keys)
    /// ```
    ///
    /// A key of ECDSA over the curve P-256 is derived from the secret key. Chunks have no signatures of their own.
    ///
    /// - Parameters:
    ///   - service: The name of the service in signatures, such as `s3`.
    ///   - regions: The regions that accept the signature, such as `eu-*`, or `*` for all.
    ///   - credentials: The credentials, or the source that is asked for each attempt.
    ///   - payload: How the content is covered.
    ///   - clock: The clock of the dates and of the wait for credentials; it must be that of the transport.
    public init(
        service: String, regions: [String], credentials: some AWSCredentialSource, payload: AWSPayload = .automatic,
        clock: any DatedClock = SystemClock()
    ) {
        self.init(service, .asymmetric(regions: regions.joined(separator: ",")), credentials, payload, clock)
    }
}

extension P256.Signing.PrivateKey {
    /// The order of the curve less 2, which is the largest candidate.
    private static let largestCandidate: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x4F,
    ]

    /// The key that Signature Version 4A derives from a secret key: the first candidate of HMAC with SHA-256 in counter mode
    /// (NIST SP 800-108) within the order of the curve, plus one.
    static func aws4a(_ credentials: AWSCredentials) throws -> P256.Signing.PrivateKey {
        let secret = SymmetricKey(data: Data("AWS4A\(credentials.secretAccessKey)".utf8))
        for counter in UInt8(1)...254 {
            var input = Data([0, 0, 0, 1])
            input.append(contentsOf: "AWS4-ECDSA-P256-SHA256".utf8)
            input.append(0)
            input.append(contentsOf: credentials.accessKeyID.utf8)
            input.append(counter)
            // The length of the key in bits.
            input.append(contentsOf: [0, 0, 1, 0])
            var candidate = Array(HMAC<SHA256>.authenticationCode(for: input, using: secret))
            guard !largestCandidate.lexicographicallyPrecedes(candidate) else { continue }
            for position in candidate.indices.reversed() {
                candidate[position] &+= 1
                if candidate[position] != 0 { break }
            }
            return try P256.Signing.PrivateKey(rawRepresentation: candidate)
        }
        throw SigningError(.wrongKey, "No key can be derived from the secret access key. Use other credentials.")
    }
}
#endif
