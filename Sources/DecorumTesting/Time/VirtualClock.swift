public import Decorum
public import Foundation
import Synchronization

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
        var sleepers = Waiters<ContinuousClock.Instant>()
        var watchers = Waiters<Int>()
    }

    private let start = ContinuousClock.now
    private let startDate: Date
    private let state = Mutex(State())

    /// Creates a clock that stands still.
    ///
    /// - Parameter date: The date that it starts from; 14 November 2023, 22:13:20 UTC if not given.
    public init(date: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        startDate = date
    }

    /// The instant that the clock was moved to.
    public var now: ContinuousClock.Instant {
        start + state.withLock { $0.elapsed }
    }

    /// The date that the clock was moved to.
    public var date: Date {
        startDate + TimeInterval(state.withLock { $0.elapsed } / .seconds(1))
    }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// How long each sleeping task still has to sleep, shortest first.
    public var pendingSleeps: [Duration] {
        state.withLock { state in state.sleepers.values.map { $0 - (start + state.elapsed) } }.sorted()
    }

    /// Moves the time forwards and wakes every task whose deadline it reaches.
    ///
    /// - Parameter duration: How far to move; a negative duration moves nothing.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.elapsed += max(duration, .zero)
            let now = start + state.elapsed
            return state.sleepers.remove { $0 <= now }
        }
        for sleeper in woken { sleeper.resume() }
    }

    /// Sleeps until the clock has been moved to an instant, or until the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let identifier = state.withLock { $0.sleepers.newIdentifier() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (outcome, watchers) = state.withLock { state -> (Result<Void, any Error>?, [Waiter]) in
                    // Inside the lock, so that a cancellation either shows here or finds the sleeper below.
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if deadline <= start + state.elapsed { return (.success(()), []) }
                    state.sleepers.add(continuation, deadline, identifier)
                    let count = state.sleepers.count
                    return (nil, state.watchers.remove { $0 <= count })
                }
                if let outcome { continuation.resume(with: outcome) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.remove(identifier) }?.resume(throwing: CancellationError())
        }
    }

    /// Waits until at least so many tasks sleep on the clock.
    ///
    /// - Parameter count: The number of tasks to wait for.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    public func waitForSleepers(_ count: Int = 1) async throws {
        let identifier = state.withLock { $0.watchers.newIdentifier() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.sleepers.count >= count { return .success(()) }
                    state.watchers.add(continuation, count, identifier)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            state.withLock { $0.watchers.remove(identifier) }?.resume(throwing: CancellationError())
        }
    }
}

private typealias Waiter = CheckedContinuation<Void, any Error>

/// Suspended tasks, each with what it waits for.
private struct Waiters<Condition: Sendable>: Sendable {
    private var entries: [Int: (condition: Condition, waiter: Waiter)] = [:]
    private var lastIdentifier = 0

    var count: Int { entries.count }
    var values: [Condition] { entries.values.map(\.condition) }

    mutating func newIdentifier() -> Int {
        lastIdentifier += 1
        return lastIdentifier
    }

    mutating func add(_ waiter: Waiter, _ condition: Condition, _ identifier: Int) {
        entries[identifier] = (condition, waiter)
    }

    mutating func remove(_ identifier: Int) -> Waiter? {
        entries.removeValue(forKey: identifier)?.waiter
    }

    /// Removes those whose condition holds, oldest first.
    mutating func remove(where isMet: (Condition) -> Bool) -> [Waiter] {
        let met = entries.filter { isMet($0.value.condition) }.sorted { $0.key < $1.key }
        for entry in met { entries[entry.key] = nil }
        return met.map(\.value.waiter)
    }
}
