import Synchronization

/// The strategy that notes the secrets of a message, and replaces nothing.
final class NotedSecrets: SecretReplacing {
    private let noted = Mutex<[NamedSecret]>([])

    let readsPaths = false
    /// Whether the words under the names of secrets are noted too, which are no secrets.
    private let notesWords: Bool

    init(notesWords: Bool = false) {
        self.notesWords = notesWords
    }

    /// The secrets, in the order in which they were found.
    var secrets: [NamedSecret] { noted.withLock { $0 } }

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        if notesWords || !secret.isHarmless { noted.withLock { $0.append(secret) } }
        return nil
    }

    func leave(_ secret: NamedSecret) {}

    var hasKnown: Bool { false }

    func replacingKnown(in text: [UInt8]) -> [UInt8]? { nil }
}
