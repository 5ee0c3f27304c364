public import Decorum
public import Foundation

/// A clock on which every sleep ends at once and moves the time to its deadline.
///
/// Use it for a subject that waits, such as a layer that retries, where a suite examines the outcome alone. A time limit,
/// such as a deadline, is no sleep: it passes only once sleeps have moved the time as far, so a whole stack takes this clock.
///
/// In an answer of a ``StubConnection`` with this clock, a sleep that is longer than the time of the request ends with it: the
/// clock then stands at the deadline, as after a server that hangs.
///
/// A cassette with a clock that was created without a date takes the date of its recordings from the system.
public final class ImpatientClock: DatedClock {
    /// The time, on which limits sleep until sleeps have moved it as far.
    private let clock: VirtualClock
    /// The deadline of the request that a stub with a clock is answering in this task.
    @TaskLocal private static var answerDeadline: (clock: ObjectIdentifier, instant: ContinuousClock.Instant)?
    /// Whether the clock was created without a date.
    fileprivate let isUndated: Bool

    /// Creates a clock.
    ///
    /// - Parameter date: The date that it starts from; nil for 14 November 2023, 22:13:20 UTC.
    public init(date: Date? = nil) {
        isUndated = date == nil
        clock = date.map { VirtualClock(date: $0) } ?? VirtualClock()
    }

    /// The latest deadline so far.
    public var now: ContinuousClock.Instant { clock.now }

    /// The date, which moves with the time.
    public var date: Date { clock.date }

    /// True, so that a layer which retries tells no total time in its errors.
    public var skipsSleeps: Bool { true }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Moves the time to an instant, unless the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        // The deadline of another clock means another time.
        let limit = Self.answerDeadline.flatMap { $0.clock == ObjectIdentifier(self) ? $0.instant : nil }
        let end = limit.map { min(deadline, $0) } ?? deadline
        clock.advance(to: end)
        await Task.yield()
        // The answer would be cancelled at its deadline, before its sleep is over.
        guard end == deadline else { throw CancellationError() }
        try Task.checkCancellation()
    }

    /// Computes an answer, in which no sleep on this clock passes the deadline of the request.
    func answer(by deadline: ContinuousClock.Instant, of answer: () async throws -> Response) async throws -> Response {
        try await Self.$answerDeadline.withValue((ObjectIdentifier(self), deadline)) { try await answer() }
    }

    /// Waits until sleeps have moved the time to a limit, or until the task is cancelled.
    public func sleep(untilLimit limit: ContinuousClock.Instant) async throws {
        try await clock.sleep(until: limit, tolerance: nil)
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
