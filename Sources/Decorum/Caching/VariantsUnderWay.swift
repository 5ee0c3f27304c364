import HTTPTypes
import Synchronization

/// The stored responses on which work in the background is under way, so that each has at most one such work at a time.
final class VariantsUnderWay: Sendable {
    /// The identity of a stored response.
    struct Variant: Sendable, Hashable {
        fileprivate let key: ResponseKey
        fileprivate let selectingFields: HTTPFields
    }

    private let variants = Mutex<Set<Variant>>([])

    /// Records that work on a response begins.
    ///
    /// - Returns: The variant to pass to ``end(_:)``; nil when such work is under way already.
    func begin(_ stored: StoredResponse, for key: ResponseKey) -> Variant? {
        let variant = Variant(key: key, selectingFields: stored.selectingFields)
        return variants.withLock { $0.insert(variant).inserted } ? variant : nil
    }

    func end(_ variant: Variant) {
        variants.withLock { _ = $0.remove(variant) }
    }
}
