import Synchronization

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
