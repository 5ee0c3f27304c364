public import Decorum
public import Foundation
import Synchronization

/// A clock on which every sleep ends at once and moves the time to its deadline.
///
/// Use it for a subject that waits, such as a layer that retries, where a suite examines the outcome alone.
///
/// A cassette with a clock that was created without a date takes the date of its recordings from the system.
public final class ImpatientClock: DatedClock {
    private let start = ContinuousClock.now
    private let startDate: Date
    private let elapsed = Mutex(Duration.zero)
    /// Whether the clock was created without a date.
    fileprivate let isUndated: Bool

    /// Creates a clock.
    ///
    /// - Parameter date: The date that it starts from; nil for 14 November 2023, 22:13:20 UTC.
    public init(date: Date? = nil) {
        isUndated = date == nil
        startDate = date ?? Date(timeIntervalSince1970: 1_700_000_000)
    }

    /// The latest deadline so far.
    public var now: ContinuousClock.Instant { start + elapsed.withLock { $0 } }

    /// The date, which moves with the time.
    public var date: Date { startDate + TimeInterval(elapsed.withLock { $0 } / .seconds(1)) }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Moves the time to an instant, unless the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        elapsed.withLock { $0 = max($0, deadline - start) }
        await Task.yield()
        try Task.checkCancellation()
    }
}

extension DatedClock {
    /// The date by which recordings are dated and their age is judged.
    ///
    /// A clock that skips waits, and was given no date, would date each recording to a day in the past.
    var recordingDate: Date {
        guard let clock = self as? ImpatientClock, clock.isUndated else { return date }
        return SystemClock().date
    }
}
