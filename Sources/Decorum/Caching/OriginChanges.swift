import Foundation
import Synchronization

/// The times of the latest requests with an unsafe method to each origin, for the policy that invalidates all stored
/// responses of the origin.
///
/// The stored responses themselves stay, and are validated before they are used.
final class OriginChanges: Sendable {
    private struct State {
        var dates: [String: Date] = [:]
        /// The time before which all origins may have changed.
        var earlier: Date?
    }

    /// Above this number of origins, all of them count as changed, so that the dates take a limited space.
    private static let countLimit = 1000
    private let state = Mutex(State())

    /// Records that resources of an origin may have changed.
    func note(at uri: ResponseKey.URI, _ date: Date) {
        state.withLock { state in
            if state.dates.count >= Self.countLimit { state = State(earlier: date) }
            state.dates[uri.origin] = date
        }
    }

    /// Whether a stored response was requested before a change at its origin, so that it must be validated.
    func outdate(_ stored: [StoredResponse], at uri: ResponseKey.URI) -> Bool {
        guard !stored.isEmpty, let date = state.withLock({ $0.dates[uri.origin] ?? $0.earlier }) else { return false }
        return stored.contains { $0.requestDate <= date }
    }
}

extension ResponseKey.URI {
    fileprivate var origin: String { "\(scheme)://\(authority)" }
}
