#if Signing
import Crypto
import Foundation
import Testing

@testable import DecorumSigning

struct SigningKeyTests {
    @Test func `A key signs what its public half verifies`() async throws {
        let data = Data("text".utf8)
        let key = P256.Signing.PrivateKey()
        let signature = try await SigningKey.p256(key).signature(of: data)
        #expect(signature.count == 64)
        #expect(VerifyingKey.p256(key.publicKey).isValid(signature, of: data))
        #expect(!VerifyingKey.p256(key.publicKey).isValid(signature, of: Data("other".utf8)))
    }
}
#endif
