import Synchronization

/// The strategy of matching: every secret becomes the same text, so that requests with other secrets are equal.
///
/// A word counts as a secret here, since a test may replay with a word in place of a token.
final class ErasedSecrets: SecretReplacing {
    private static let text = Array(Pseudonym.erasedText.utf8)

    let readsPaths = false
    private let known = Mutex(KnownSecrets())

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        if secret.isNumber { return secret.isHarmless ? nil : [UInt8(ascii: "0")] }
        guard secret.bytes != Self.text else { return nil }
        known.withLock { $0.insert(secret.bytes, replacedBy: Self.text) }
        return Self.text
    }

    func leave(_ secret: NamedSecret) {}

    var hasKnown: Bool { known.withLock { !$0.isEmpty } }

    func replacingKnown(in text: [UInt8]) -> [UInt8]? {
        let known = known.withLock { $0 }
        return known.replacing(in: text)
    }
}
