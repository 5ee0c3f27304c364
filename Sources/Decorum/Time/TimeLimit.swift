import Synchronization

/// An instant at which something fails unless it has ended by then, and the reason for it.
public struct TimeLimit: Sendable, Hashable {
    /// The reason why time is limited.
    public enum Cause: Sendable, Hashable {
        /// Nothing is sent or received for as long as an idle timeout.
        case idle
        /// A deadline passes.
        case deadline
    }

    /// The instant at which it is over.
    public let instant: ContinuousClock.Instant
    /// The reason.
    public let cause: Cause

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - instant: The instant at which it is over.
    ///   - cause: The reason.
    public init(at instant: ContinuousClock.Instant, because cause: Cause) {
        self.instant = instant
        self.cause = cause
    }
}

/// Something that fails at an instant unless it has ended by then: a ``TimeLimitWatch`` tells it when that is so.
///
/// The watch may call at any moment, from any thread, and after the end: only the first end counts.
public protocol TimeLimited: AnyObject, Sendable {
    /// The limit that is reached next; nil once it has ended.
    ///
    /// It may move to a later instant at any time, without notice to the watch. It must not move to an earlier one.
    var timeLimit: TimeLimit? { get }

    /// Fails, since the instant of a limit has come, unless ``timeLimit`` is a later one by now.
    ///
    /// - Parameter limit: The limit, as ``timeLimit`` was a moment ago.
    func timeOut(at limit: TimeLimit)

    /// Ends the value before its limit: a task that waits for it gets `CancellationError`.
    func cancel()
}

extension TimeLimited {
    /// Whether a limit whose instant has come is still the limit that counts.
    ///
    /// - Parameter limit: The limit that the watch has found.
    /// - Returns: False where the value has ended or moved on since.
    package func isStill(at limit: TimeLimit) -> Bool {
        timeLimit.map { $0.instant <= limit.instant } ?? false
    }
}

/// Fails everything that it watches at its time limit: the exchanges of a transport, or the callers of a layer that wait.
///
/// Add each ``TimeLimited`` value when it begins, and remove it when it ends; in between, the watch asks for its limit. One
/// task sleeps for all of them, since a task for each would leave a timer behind for each request that was answered. The
/// task ends when the watch is dropped.
public final class TimeLimitWatch: Sendable {
    private struct State {
        var watched: [ObjectIdentifier: any TimeLimited] = [:]
        var wakingUp: ContinuousClock.Instant?
        var sleeper: Task<Void, Never>?
    }

    /// The clock that the watch goes by.
    public let clock: any DatedClock
    private let state = Locked(State())

    /// Creates a watch over nothing.
    ///
    /// - Parameter clock: The clock that the watch goes by.
    public init(clock: any DatedClock) {
        self.clock = clock
    }

    deinit {
        state.withLock { $0.sleeper?.cancel() }
    }

    /// Watches something from now on; it is left out if it has ended already.
    ///
    /// - Parameter limited: The value to watch, which is retained until it is removed.
    public func add(_ limited: some TimeLimited) {
        state.withLock { state in
            // The limit is read under the lock, so that a value that ends meanwhile is removed after it was added.
            guard let limit = limited.timeLimit?.instant else { return }
            state.watched[ObjectIdentifier(limited)] = limited
            guard state.wakingUp.map({ limit < $0 }) ?? true else { return }
            state.wakingUp = limit
            state.sleeper?.cancel()
            state.sleeper = sleep(until: limit)
        }
    }

    /// Watches something that may have no limit, until it is removed.
    func hold(_ limited: some TimeLimited) {
        state.withLock { $0.watched[ObjectIdentifier(limited)] = limited }
    }

    /// Stops watching something, which has ended.
    ///
    /// - Parameter limited: The value; one that was not added has no effect.
    public func remove(_ limited: some TimeLimited) {
        _ = state.withLock { $0.watched.removeValue(forKey: ObjectIdentifier(limited)) }
    }

    /// Cancels everything that is watched, and watches what is added later.
    public func cancelAll() {
        for limited in state.withLock({ Array($0.watched.values) }) { limited.cancel() }
    }

    /// The number of values that are watched.
    var count: Int { state.withLock { $0.watched.count } }

    private func sleep(until instant: ContinuousClock.Instant) -> Task<Void, Never> {
        Task.detached { [weak self, clock] in
            var wakingUp: ContinuousClock.Instant? = instant
            while let instant = wakingUp {
                try? await clock.sleep(untilLimit: instant)
                guard !Task.isCancelled else { return }
                wakingUp = self?.failOverdue()
            }
        }
    }

    /// Fails what is overdue, and returns the next instant at which something else may be.
    private func failOverdue() -> ContinuousClock.Instant? {
        let now = clock.now
        let (overdue, next) = state.withLock { state in
            var overdue: [(any TimeLimited, TimeLimit)] = []
            var next: ContinuousClock.Instant?
            for limited in state.watched.values {
                guard let limit = limited.timeLimit else { continue }
                if limit.instant <= now {
                    overdue.append((limited, limit))
                } else {
                    next = min(next ?? limit.instant, limit.instant)
                }
            }
            state.wakingUp = next
            if next == nil { state.sleeper = nil }
            return (overdue, next)
        }
        for (limited, limit) in overdue {
            limited.timeOut(at: limit)
            // It has moved on meanwhile, as an exchange does whose head has just arrived.
            if let later = limited.timeLimit, later.instant > limit.instant { add(limited) }
        }
        return next
    }
}
