#if Signing
import Crypto
import Decorum
import DecorumSigning
import DecorumTesting
import Testing

/// The place of ready signers in a stack, as `findings` tells it.
@Suite(.timeLimit(.minutes(3)))
struct SignerPlaceTests {
    private static let api = "https://api.example.com"

    private func signed() throws -> [any Connection] {
        let api = try Origin(Self.api)
        let keys = try AWSCredentials(accessKeyID: "ID", secretAccessKey: "secret")
        let key = SymmetricKey(size: .bits256)
        let base = StubConnection(Response(status: .ok))
        return try [
            base.authenticating(with: .signer(SigV4(service: "s3", region: "eu-west-1", credentials: keys)), for: api),
            base.authenticating(with: .signer(MessageSigner(key: .hmac(key), id: "key-1")), for: api),
            base.authenticating(with: .signer(OAuth1(consumer: "key", secret: "s")), for: api),
            base.authenticating(
                with: .signer(HMACSigner(key: key, parts: [.method, .path], field: .authorization)), for: api),
            base.authenticating(with: DigestCredentials(user: "me", password: "pass"), for: api),
        ]
    }

    @Test func `A signer and a cache that share no principal are an error`() throws {
        for connection in try signed() {
            let shared = connection.caching(in: MemoryResponseStore())
            #expect(shared.findings.contains { $0.hazard == "principalMissing" && $0.severity == .error })
            let ofOne = shared.acting(for: Principal("user-42"))
            #expect(!ofOne.findings.contains { $0.severity == .error })
        }
    }
}
#endif
