#if Cryptography
import Crypto
public import Decorum

extension ProofKey {
    /// Creates a key with 256 random bits, over swift-crypto.
    ///
    /// - Parameter generator: The source of the random bits; they must be unpredictable.
    /// - Throws: Nothing but a failure of the library.
    public init(generator: any RandomGenerator = SystemGenerator()) throws {
        try self.init(generator: generator, sha256: { SHA256.hash(data: $0) })
    }

    /// Creates a key with a verifier of one's own, over swift-crypto.
    ///
    /// - Parameter verifier: 43 to 128 letters, digits or `-._~`, which are random.
    /// - Throws: ``ProofKeyError`` for another verifier.
    public init(verifier: String) throws {
        try self.init(verifier: verifier, sha256: { SHA256.hash(data: $0) })
    }
}
#endif
