public import Decorum
public import Foundation
import Synchronization

/// A clock on which every sleep ends at once and moves the time to its deadline.
///
/// Use it for a subject that waits, such as a layer that retries, where a suite examines the outcome alone.
///
/// A clock without a date of its own takes that of the first cassette to which it is given: the date of the recordings
/// that are played, or the date of the day. It never dates a recording, which is dated by the system then.
public final class ImpatientClock: DatedClock {
    private struct Course {
        var startDate: Date?
        var elapsed = Duration.zero
    }

    private let start = ContinuousClock.now
    private let course: Mutex<Course>
    /// Whether the clock was created with a date.
    let hasOwnDate: Bool

    /// Creates a clock.
    ///
    /// - Parameter date: The date that it starts from; nil for that of the first cassette with this clock, and until
    ///   then, or without one, 14 November 2023, 22:13:20 UTC.
    public init(date: Date? = nil) {
        hasOwnDate = date != nil
        course = Mutex(Course(startDate: date))
    }

    /// The latest deadline so far.
    public var now: ContinuousClock.Instant { start + course.withLock(\.elapsed) }

    /// The date, which moves with the time.
    public var date: Date {
        let course = course.withLock { $0 }
        return (course.startDate ?? Self.usualDate) + TimeInterval(course.elapsed / .seconds(1))
    }

    private static let usualDate = Date(timeIntervalSince1970: 1_700_000_000)

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Moves the time to an instant, unless the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        course.withLock { $0.elapsed = max($0.elapsed, deadline - start) }
        await Task.yield()
        try Task.checkCancellation()
    }

    /// Starts from a date, if the clock has none.
    func begin(at date: @autoclosure () -> Date) {
        course.withLock { course in
            if course.startDate == nil { course.startDate = date() }
        }
    }
}
