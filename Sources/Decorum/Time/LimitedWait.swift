import Synchronization

/// A wait for a value that ends at an instant, while the work for the value may go on.
final class LimitedWait<Value: Sendable>: TimeLimited {
    private typealias Waiter = CheckedContinuation<Value?, any Error>

    private enum State {
        case empty
        case waiting(Waiter)
        case delivered(Result<Value, any Error>)
        case ended(Result<Value?, any Error>)
    }

    private let instant: ContinuousClock.Instant?
    private let state = Locked(State.empty)

    /// Creates a wait that ends at an instant; nil for one that only the value or cancellation ends.
    init(until instant: ContinuousClock.Instant?) {
        self.instant = instant
    }

    /// Delivers the outcome.
    ///
    /// - Returns: The outcome if the caller no longer waits; otherwise nil.
    @discardableResult func deliver(_ outcome: Result<Value, any Error>) -> Result<Value, any Error>? {
        let (waiter, unwanted) = state.withLock { state -> (Waiter?, Result<Value, any Error>?) in
            switch state {
            case .empty:
                state = .delivered(outcome)
                return (nil, nil)
            case .waiting(let waiter):
                state = .ended(.success(nil))
                return (waiter, nil)
            case .delivered, .ended:
                return (nil, outcome)
            }
        }
        waiter?.resume(with: outcome.map { $0 })
        return unwanted
    }

    /// Performs work, and delivers its outcome.
    ///
    /// - Returns: The outcome if the caller no longer waits; otherwise nil.
    @discardableResult func deliver(
        outcomeOf work: @Sendable () async throws -> Value
    ) async -> Result<Value, any Error>? {
        do {
            return deliver(.success(try await work()))
        } catch {
            return deliver(.failure(error))
        }
    }

    /// Waits for the outcome.
    ///
    /// - Parameters:
    ///   - watch: The watch that ends the wait.
    ///   - cancel: Called when the caller is cancelled, to cancel the work.
    /// - Returns: The value; nil when the time was over first.
    /// - Throws: The delivered error, or `CancellationError`.
    func value(watchedBy watch: TimeLimitWatch, orCancel cancel: @escaping @Sendable () -> Void) async throws -> Value?
    {
        watch.add(self)
        defer { watch.remove(self) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                if let outcome = wait(waiter) { waiter.resume(with: outcome) }
            }
        } onCancel: {
            end(.failure(CancellationError()))
            cancel()
        }
    }

    var timeLimit: TimeLimit? {
        state.withLock { state in
            switch state {
            case .empty, .waiting: instant.map { TimeLimit(at: $0, because: .deadline) }
            case .delivered, .ended: nil
            }
        }
    }

    func timeOut(at limit: TimeLimit) {
        end(.success(nil))
    }

    func cancel() {
        end(.failure(CancellationError()))
    }

    private func wait(_ waiter: Waiter) -> Result<Value?, any Error>? {
        state.withLock { state in
            switch state {
            case .delivered(let outcome):
                state = .ended(.success(nil))
                return outcome.map { $0 }
            case .ended(let outcome):
                return outcome
            case .empty, .waiting:
                state = .waiting(waiter)
                return nil
            }
        }
    }

    private func end(_ outcome: Result<Value?, any Error>) {
        let waiter = state.withLock { state -> Waiter? in
            switch state {
            case .waiting(let waiter):
                state = .ended(outcome)
                return waiter
            case .empty:
                state = .ended(outcome)
                return nil
            case .delivered, .ended:
                // An outcome that is already there is always taken.
                return nil
            }
        }
        waiter?.resume(with: outcome)
    }
}

extension TimeLimitWatch {
    /// Waits for an operation, and cancels it at an instant.
    ///
    /// An operation with a limit runs in a separate task, which may end later than this call.
    ///
    /// - Parameters:
    ///   - instant: The instant at which the wait ends; nil to wait without a limit.
    ///   - operation: The operation.
    /// - Returns: The value; nil where the instant came first.
    /// - Throws: The error of the operation, or `CancellationError`.
    public func value<Value: Sendable>(
        until instant: ContinuousClock.Instant?, of operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard let instant else { return try await operation() }
        return try await leavableValue(until: instant, of: operation)
    }

    /// Waits for an operation in a separate task, which a cancelled caller and ``cancelAll()`` leave at once.
    ///
    /// - Parameters:
    ///   - instant: The instant at which the wait ends; nil to wait without a limit.
    ///   - operation: The operation, which is cancelled when the wait ends, and may end later.
    /// - Returns: The value; nil where the instant came first.
    /// - Throws: The error of the operation, or `CancellationError`.
    public func leavableValue<Value: Sendable>(
        until instant: ContinuousClock.Instant?, of operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let wait = LimitedWait<Value>(until: instant)
        hold(wait)
        let work = Task { await wait.deliver(outcomeOf: operation) }
        defer { work.cancel() }
        return try await wait.value(watchedBy: self) { work.cancel() }
    }
}
