public import Decorum
public import Foundation
import Synchronization

/// A clock on which every sleep ends at once and moves the time to its deadline.
///
/// Use it for a subject that waits, such as a layer that retries, where a suite examines the outcome alone. A time limit,
/// such as a deadline, is no sleep: it passes only once sleeps have moved the time as far, so a whole stack takes this clock.
///
/// A cassette with a clock that was created without a date takes the date of its recordings from the system.
public final class ImpatientClock: DatedClock {
    private struct State {
        var elapsed = Duration.zero
        var lastNumber = 0
        var limits: [Int: (limit: Duration, waiter: CheckedContinuation<Void, any Error>)] = [:]
    }

    private let start = ContinuousClock.now
    private let startDate: Date
    private let state = Mutex(State())
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
    public var now: ContinuousClock.Instant { start + state.withLock { $0.elapsed } }

    /// The date, which moves with the time.
    public var date: Date { startDate + TimeInterval(state.withLock { $0.elapsed } / .seconds(1)) }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Moves the time to an instant, unless the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        move(to: deadline - start)
        await Task.yield()
        try Task.checkCancellation()
    }

    /// Waits until sleeps have moved the time to a limit, or until the task is cancelled.
    public func sleep(untilLimit limit: ContinuousClock.Instant) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let isOver = state.withLock { state in
                    guard state.elapsed < limit - start, !Task.isCancelled else { return true }
                    state.limits[number] = (limit - start, waiter)
                    return false
                }
                if isOver { waiter.resume() }
            }
            try Task.checkCancellation()
        } onCancel: {
            state.withLock { $0.limits.removeValue(forKey: number) }?.waiter.resume(throwing: CancellationError())
        }
    }

    private func move(to instant: Duration) {
        let passed = state.withLock { state in
            state.elapsed = max(state.elapsed, instant)
            let passed = state.limits.filter { [elapsed = state.elapsed] in $0.value.limit <= elapsed }
            for number in passed.keys { state.limits[number] = nil }
            return passed.values.map(\.waiter)
        }
        for waiter in passed { waiter.resume() }
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
