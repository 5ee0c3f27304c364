import Synchronization

/// The strategy of matching, and of messages about a file: every secret becomes the same text.
///
/// So requests with other secrets are equal. A message leaves the placeholders of its file, which tell which secret is meant.
///
/// A word that a recording leaves as it is stays here too, so that `?code=de` and `?code=fr` are two requests. A test
/// that replays with a word in place of a token is answered by the placeholder, which matches any text.
final class ErasedSecrets: SecretReplacing {
    private static let text = Array(Pseudonym.erasedText.utf8)

    let readsPaths = false
    private let leavesPlaceholders: Bool
    private let known = Mutex(KnownSecrets())

    init(leavingPlaceholders leavesPlaceholders: Bool = false) {
        self.leavesPlaceholders = leavesPlaceholders
    }

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        guard !secret.isHarmless, secret.bytes != Self.text else { return nil }
        if leavesPlaceholders, secret.isMarkedPlaceholder || secret.mayBePlaceholder { return nil }
        if secret.isNumber { return [UInt8(ascii: "0")] }
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
