import HTTPTypes
import Synchronization

/// The stored responses that something is done about behind callers' backs, so that it is done once at a time for each.
final class BusyVariants: Sendable {
    /// What tells a stored response from others.
    struct Variant: Sendable, Hashable {
        fileprivate let key: ResponseKey
        fileprivate let selectingFields: HTTPFields
    }

    private let variants = Mutex<Set<Variant>>([])

    /// Notes that something is begun about a response.
    ///
    /// - Returns: What to end it with; nil where it is being done already.
    func begin(_ stored: StoredResponse, for key: ResponseKey) -> Variant? {
        let variant = Variant(key: key, selectingFields: stored.selectingFields)
        return variants.withLock { $0.insert(variant).inserted } ? variant : nil
    }

    func end(_ variant: Variant) {
        variants.withLock { _ = $0.remove(variant) }
    }
}
