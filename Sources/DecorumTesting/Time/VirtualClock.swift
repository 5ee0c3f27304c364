public import Decorum
public import Foundation

/// A clock that moves only when a test moves it.
///
/// A task that sleeps on it wakes when ``advance(by:)`` has brought the time to its deadline, or when it is cancelled.
///
/// ```swift
/// let clock = VirtualClock()
/// async let response = stub.retrying(clock: clock).send(request)
/// try await clock.waitForSleepers()
/// clock.advance(by: .seconds(1))
/// #expect(try await response.status == .ok)
/// ```
public final class VirtualClock: DatedClock {
    private struct State {
        var elapsed = Duration.zero
        /// When each sleeping task wants to wake, by the number of its sleep.
        var deadlines: [Int: Duration] = [:]
        var lastSleep = 0

        var pendingSleeps: [Duration] {
            deadlines.values.filter { $0 > elapsed }.map { $0 - elapsed }
        }
    }

    private let start = ContinuousClock.now
    private let startDate: Date
    private let monitor = Monitor(State())

    /// Creates a clock that stands still.
    ///
    /// - Parameter date: The date that it starts from; 14 November 2023, 22:13:20 UTC if not given.
    public init(date: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        startDate = date
    }

    /// The instant that the clock was moved to.
    public var now: ContinuousClock.Instant { start + monitor.read(\.elapsed) }

    /// The date that the clock was moved to.
    public var date: Date { startDate + TimeInterval(monitor.read(\.elapsed) / .seconds(1)) }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The remaining time of each sleeping task that is not cancelled, shortest first.
    public var pendingSleeps: [Duration] { monitor.read(\.pendingSleeps).sorted() }

    /// Moves the time forwards and wakes every task whose deadline it reaches; a negative duration moves nothing.
    public func advance(by duration: Duration) {
        monitor.update { $0.elapsed += max(duration, .zero).bounded }
    }

    /// Moves the time to an instant, and wakes every task whose deadline it reaches; an instant before ``now`` moves nothing.
    public func advance(to instant: ContinuousClock.Instant) {
        monitor.update { $0.elapsed = max($0.elapsed, instant - start) }
    }

    /// Sleeps until the clock has been moved to an instant, or until the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let deadline = start.duration(to: max(start, deadline))
        let sleep = monitor.update { state in
            state.lastSleep += 1
            return state.lastSleep
        }
        defer { monitor.update { $0.deadlines[sleep] = nil } }
        try await withTaskCancellationHandler {
            // The task is marked as cancelled before its handler is called, so no cancelled sleep stays.
            monitor.update { if !Task.isCancelled { $0.deadlines[sleep] = deadline } }
            try await monitor.wait { $0.elapsed >= deadline }
        } onCancel: {
            // The task may get a thread much later, and a test would take this sleep for the one that follows it.
            monitor.update { $0.deadlines[sleep] = nil }
        }
    }

    /// Waits until at least a number of tasks sleep on the clock.
    ///
    /// The limit is divided into many short sleeps. In a busy process, each short sleep also waits for a thread. So the
    /// wait takes longer there, and the other tasks run as often as in an idle process.
    ///
    /// - Parameters:
    ///   - count: The number of tasks to wait for.
    ///   - limit: The real time to wait before the method throws because too few tasks sleep.
    /// - Throws: ``NoSleeperError`` at the limit, `CancellationError` when the waiting task is cancelled.
    public func waitForSleepers(_ count: Int = 1, within limit: Duration = .seconds(20)) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [monitor] in try await monitor.wait { $0.pendingSleeps.count >= count } }
            group.addTask {
                for _ in 0..<500 { try await Task.sleep(for: limit.bounded / 500) }
                throw NoSleeperError(count: count)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// Fewer tasks came to sleep on a virtual clock than a test waited for.
public struct NoSleeperError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number of tasks that were waited for.
    public let count: Int

    /// The cause and where to look.
    public var description: String {
        "Fewer than \(count) tasks sleep on the clock. Check that the layer has this clock, and that it waits at all."
    }
}
