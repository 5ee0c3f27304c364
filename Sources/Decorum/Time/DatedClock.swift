public import Foundation

/// The time that layers use: a monotonic clock and the date, in one value that a test can replace.
///
/// Every modifier that waits, measures time or needs the date takes one as `clock:`. ``SystemClock`` is the default;
/// `VirtualClock` in `DecorumTesting` moves only when a test moves it.
public protocol DatedClock: Clock where Instant == ContinuousClock.Instant, Duration == Swift.Duration {
    /// The date and time of day, which may jump.
    var date: Date { get }

    /// Whether sleeps end at once, so that the time of the clock is no measure of the time that has passed; by default, it is one.
    ///
    /// A layer that retries then tells no total time in its errors.
    var skipsSleeps: Bool { get }

    /// Waits until the deadline of a request or another instant at which a ``TimeLimitWatch`` fails what has not ended.
    ///
    /// By default, it sleeps. A clock that skips sleeps does not skip this wait, since then no request would be in time.
    ///
    /// - Parameter limit: The instant.
    /// - Throws: `CancellationError`, as soon as the task is cancelled.
    func sleep(untilLimit limit: ContinuousClock.Instant) async throws
}

extension DatedClock {
    /// False.
    public var skipsSleeps: Bool { false }

    /// The instant after a duration, which may be of any length.
    package func instant(after duration: Duration) -> ContinuousClock.Instant { now.advanced(by: duration.bounded) }

    /// Sleeps for a duration, which may be of any length.
    package func sleep(for duration: Duration) async throws {
        try await sleep(until: instant(after: duration), tolerance: nil)
    }

    /// Sleeps until the instant.
    public func sleep(untilLimit limit: ContinuousClock.Instant) async throws {
        try await sleep(until: limit, tolerance: nil)
    }
}

/// The time of the machine.
public struct SystemClock: DatedClock {
    private let clock = ContinuousClock()

    /// Creates a clock with the machine's time.
    public init() {}

    /// The current instant, which only moves forwards and continues while the machine sleeps.
    public var now: ContinuousClock.Instant { clock.now }

    /// The smallest difference that the clock can measure.
    public var minimumResolution: Duration { clock.minimumResolution }

    /// The date and time of day.
    public var date: Date { Date() }

    /// Waits until an instant, or until the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        // The clock of the system ends the process for an instant that is too far away.
        let now = now
        try await clock.sleep(until: min(max(deadline, now), now + .longest), tolerance: tolerance)
    }
}
