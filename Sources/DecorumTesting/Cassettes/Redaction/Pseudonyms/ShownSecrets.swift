import Synchronization

/// The strategy of messages about a file: a placeholder stays as the file has it, and every other secret becomes the text that
/// stands for each.
final class ShownSecrets: SecretReplacing {
    private static let text = Array(Pseudonym.erasedText.utf8)

    let readsPaths = false
    private let known = Mutex(KnownSecrets())

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        guard !secret.isHarmless, secret.bytes != Self.text, !secret.isMarkedPlaceholder, !secret.mayBePlaceholder
        else {
            return nil
        }
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
