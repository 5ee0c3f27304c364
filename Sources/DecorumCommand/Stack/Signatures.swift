#if CommandLine && Signing
import Crypto
import CryptoExtras
import Decorum
import DecorumSigning
import Foundation

extension CredentialOptions {
    /// The credentials of a kind that signs, of which dpop has a token as its secret, and `digest:NAME` a password.
    static func signing(
        _ kind: String, _ secret: String?, for origins: Set<Origin>, over network: any Connection, clock: any DatedClock
    ) throws -> StandardStack.Authentication {
        let parts = kind.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count, secret) {
        case ("sigv4", 3, nil):
            let chain = AWSCredentialChain.standard(over: network, clock: clock)
            let signer = SigV4(service: parts[2], region: parts[1], credentials: chain, clock: clock)
            return .with(.signer(signer), for: origins)
        case ("rfc9421", 2...3, nil):
            let signer = MessageSigner(key: try key(parts[1]), id: parts.dropFirst(2).first, clock: clock)
            return .with(.signer(signer), for: origins)
        case ("dpop", 2, let token?):
            let dpop = try DPoP(key: key(parts[1], orHMAC: false), clock: clock)
            let credentials = try Credentials.field(.authorization, "DPoP \(token)")
            return .applying(for: origins) { base, origins, _ in
                base.provingPossession(with: dpop, for: origins).authenticating(with: credentials, for: origins)
            }
        case ("digest", _, let password?):
            return .with(try DigestCredentials(user: String(kind.dropFirst(7)), password: password), for: origins)
        default:
            let forms = "sigv4:REGION:SERVICE, rfc9421:KEYFILE[:KEYID], or dpop:KEYFILE with --bearer"
            throw CommandFailure(.usage, "“\(kind.shortened)” is no signature. Write \(forms).")
        }
    }

    /// The bytes of a key of HMAC, without line breaks around a text; nil for a key in PEM or DER, and without a byte.
    static func secretBytes(of data: Data) -> Data? {
        guard let text = String(validating: data, as: UTF8.self)?.trimmingCharacters(in: .newlines) else {
            // A key in DER is a sequence that begins with a version.
            return data.first == 0x30 && data.prefix(6).contains([2, 1]) ? nil : data
        }
        return text.isEmpty || text.contains("-----BEGIN") ? nil : Data(text.utf8)
    }

    /// Reads a private key in PEM, of P-256, P-384, RSA or Ed25519, or the bytes of a key of HMAC.
    private static func key(_ file: String, orHMAC takesHMAC: Bool = true) throws -> SigningKey {
        let data = try InputFile.data(file)
        let text = String(decoding: data, as: UTF8.self)
        let readers: [(String) throws -> SigningKey] = [
            { .p256(try .init(pemRepresentation: $0)) }, { .p384(try .init(pemRepresentation: $0)) },
            { try .rsaPSS(.init(pemRepresentation: $0)) }, { .ed25519(try .init(pemRepresentation: $0)) },
        ]
        if let key = readers.lazy.compactMap({ try? $0(text) }).first { return key }
        if takesHMAC, let bytes = secretBytes(of: data) { return .hmac(SymmetricKey(data: bytes)) }
        throw CommandFailure(.badInput, "“\(file)” has no private key of Ed25519, P-256, P-384 or RSA in PEM.")
    }
}
#endif
