import HTTPTypes
import Synchronization

/// The stored responses that are validated in the background, so that each is validated once at a time.
final class ValidationsUnderWay: Sendable {
    /// The identity of a stored response.
    struct Variant: Sendable, Hashable {
        fileprivate let key: ResponseKey
        fileprivate let selectingFields: HTTPFields
    }

    private let variants = Mutex<Set<Variant>>([])

    /// Records that a validation begins.
    ///
    /// - Returns: The variant to pass to ``end(_:)``; nil when it is being validated already.
    func begin(_ stored: StoredResponse, for key: ResponseKey) -> Variant? {
        let variant = Variant(key: key, selectingFields: stored.selectingFields)
        return variants.withLock { $0.insert(variant).inserted } ? variant : nil
    }

    func end(_ variant: Variant) {
        variants.withLock { _ = $0.remove(variant) }
    }
}
