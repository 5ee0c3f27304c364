import Foundation
import Synchronization

/// The times of the latest requests with an unsafe method to each origin, for the policy that invalidates all stored
/// responses of the origin.
///
/// It holds one date for each origin; the stored responses themselves stay, and are validated before they are used.
final class OriginChanges: Sendable {
    private let dates = Mutex<[String: Date]>([:])

    /// Records that resources of an origin may have changed.
    func note(at uri: ResponseKey.URI, _ date: Date) {
        dates.withLock { $0[uri.origin] = date }
    }

    /// Whether a stored response was requested before a change at its origin, so that it must be validated.
    func outdate(_ stored: [StoredResponse], at uri: ResponseKey.URI) -> Bool {
        guard !stored.isEmpty, let date = dates.withLock({ $0[uri.origin] }) else { return false }
        return stored.contains { $0.requestDate <= date }
    }
}

extension ResponseKey.URI {
    fileprivate var origin: String { "\(scheme)://\(authority)" }
}
