import Foundation
import Synchronization

/// Counts the requests with unsafe methods that each origin has answered, so that what was asked for before one of them
/// is not kept after it.
final class OriginChanges: Sendable {
    /// When a request was sent, and what had been changed by then.
    struct Departure: Sendable {
        let date: Date
        fileprivate let count: Int
        fileprivate let removalCount: Int
    }

    private let counts = Mutex<[String: Int]>([:])

    /// Notes that a request is sent.
    func departure(of key: ResponseKey, for store: some ResponseStore, at date: Date) -> Departure {
        let count = counts.withLock { $0[key.uri.authority] ?? 0 }
        return Departure(date: date, count: count, removalCount: store.removalCount)
    }

    /// Notes that something may have been changed.
    func note(at authority: String) {
        counts.withLock { $0[authority, default: 0] += 1 }
    }

    /// Whether nothing was changed, and nothing forgotten, since a request was sent.
    func isCurrent(_ departure: Departure, of key: ResponseKey, in store: some ResponseStore) -> Bool {
        store.removalCount == departure.removalCount
            && counts.withLock { $0[key.uri.authority] ?? 0 } == departure.count
    }
}
