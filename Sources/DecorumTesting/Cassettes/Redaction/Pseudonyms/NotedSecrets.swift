import Synchronization

/// The strategy that notes the secrets of a message, and replaces nothing.
final class NotedSecrets: SecretReplacing {
    private let noted = Mutex<[NamedSecret]>([])

    let readsPaths = false

    /// The secrets, in the order in which they were found, without the words that are none.
    var secrets: [NamedSecret] { noted.withLock { $0 } }

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        if !secret.isHarmless { noted.withLock { $0.append(secret) } }
        return nil
    }

    func leave(_ secret: NamedSecret) {}

    var hasKnown: Bool { false }

    func replacingKnown(in text: [UInt8]) -> [UInt8]? { nil }
}
