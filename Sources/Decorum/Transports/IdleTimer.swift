/// Times out the exchanges of one transport in which nothing was sent or received for as long as their idle timeout.
///
/// A transport adds each ``TransportExchange`` when it begins and removes it when it ends; in between, the timer asks for
/// the exchange's deadline. One task sleeps for all exchanges, since a task for each would leave a timer behind for each
/// request that was answered. The task ends when the timer is dropped.
public final class IdleTimer: Sendable {
    private struct State {
        var exchanges: [ObjectIdentifier: any TransportExchange] = [:]
        var wakingUp: ContinuousClock.Instant?
        var sleeper: Task<Void, Never>?
    }

    /// The longest idle timeout: seven days.
    ///
    /// A transport uses it in place of longer ones, so that instants do not overflow.
    public static let longestTimeout: Duration = .seconds(7 * 86_400)

    /// The clock that the timer goes by.
    public let clock: any DatedClock
    private let state = Locked(State())

    /// Creates a timer without exchanges.
    ///
    /// - Parameter clock: The clock that the timer goes by.
    public init(clock: any DatedClock) {
        self.clock = clock
    }

    deinit {
        state.withLock { $0.sleeper?.cancel() }
    }

    /// Times an exchange from now on; one that has ended already is left out.
    ///
    /// - Parameter exchange: The exchange, which the timer retains until it is removed.
    public func add(_ exchange: some TransportExchange) {
        state.withLock { state in
            // The deadline is read under the lock, so that an exchange that ends meanwhile is removed after it was added.
            guard let deadline = exchange.deadline else { return }
            state.exchanges[ObjectIdentifier(exchange)] = exchange
            guard state.wakingUp.map({ deadline < $0 }) ?? true else { return }
            state.wakingUp = deadline
            state.sleeper?.cancel()
            state.sleeper = sleep(until: deadline)
        }
    }

    /// Stops timing an exchange, which has ended.
    ///
    /// - Parameter exchange: The exchange; one that was not added has no effect.
    public func remove(_ exchange: some TransportExchange) {
        _ = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    /// The number of exchanges that are timed.
    var count: Int { state.withLock { $0.exchanges.count } }

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

    /// Times out the exchanges that are overdue, and returns the next deadline of the others.
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
