import Foundation
import Synchronization

/// Counts the requests with unsafe methods that each origin has answered, so that a response that was requested before
/// such a request is not stored after it.
final class OriginChanges: Sendable {
    /// The time at which a request was sent, and the counts at that time.
    struct Departure: Sendable {
        let date: Date
        fileprivate let count: Int
        fileprivate let removalCount: Int
    }

    private let counts = Mutex<[String: Int]>([:])

    /// Records that a request is sent.
    func departure(of key: ResponseKey, for store: some ResponseStore, at date: Date) -> Departure {
        let count = counts.withLock { $0[key.uri.authority] ?? 0 }
        return Departure(date: date, count: count, removalCount: store.removalCount)
    }

    /// Records that a resource may have changed.
    func note(at authority: String) {
        counts.withLock { $0[authority, default: 0] += 1 }
    }

    /// Whether there was no change and no removal since a request was sent.
    func isCurrent(_ departure: Departure, of key: ResponseKey, in store: some ResponseStore) -> Bool {
        store.removalCount == departure.removalCount
            && counts.withLock { $0[key.uri.authority] ?? 0 } == departure.count
    }
}
