/// Fails the exchanges of one connection that stand still for too long.
///
/// One task sleeps for all exchanges: a task for each would leave a timer behind for each request that was answered.
final class IdleWatch: Sendable {
    private struct State {
        var exchanges: [ObjectIdentifier: any TransportExchange] = [:]
        var wakingUp: ContinuousClock.Instant?
        var sleeper: Task<Void, Never>?
    }

    /// Longer times count as this one, since an instant that far away cannot be told.
    static let longestTimeout: Duration = .seconds(7 * 86_400)

    let clock: any DatedClock
    private let state = Locked(State())

    init(clock: any DatedClock) {
        self.clock = clock
    }

    deinit {
        state.withLock { $0.sleeper?.cancel() }
    }

    func add(_ exchange: some TransportExchange) {
        state.withLock { state in
            // Asked for under the lock: an exchange that ends now is removed only after it was added.
            guard let deadline = exchange.deadline else { return }
            state.exchanges[ObjectIdentifier(exchange)] = exchange
            guard state.wakingUp.map({ deadline < $0 }) ?? true else { return }
            state.wakingUp = deadline
            state.sleeper?.cancel()
            state.sleeper = sleep(until: deadline)
        }
    }

    /// The number of exchanges whose time is running.
    var count: Int { state.withLock { $0.exchanges.count } }

    func remove(_ exchange: some TransportExchange) {
        _ = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    private func sleep(until deadline: ContinuousClock.Instant) -> Task<Void, Never> {
        Task.detached { [weak self, clock] in
            var deadline: ContinuousClock.Instant? = deadline
            while let instant = deadline {
                try? await clock.sleep(until: instant, tolerance: nil)
                guard !Task.isCancelled else { return }
                deadline = self?.failOverdue()
            }
        }
    }

    /// Fails what is overdue and returns when to look again.
    private func failOverdue() -> ContinuousClock.Instant? {
        let now = clock.now
        let (overdue, next) = state.withLock { state in
            var overdue: [any TransportExchange] = []
            var next: ContinuousClock.Instant?
            for exchange in state.exchanges.values {
                guard let deadline = exchange.deadline else { continue }
                if deadline <= now {
                    overdue.append(exchange)
                } else {
                    next = min(next ?? deadline, deadline)
                }
            }
            state.wakingUp = next
            if next == nil { state.sleeper = nil }
            return (overdue, next)
        }
        for exchange in overdue {
            exchange.timeOut()
        }
        return next
    }
}
