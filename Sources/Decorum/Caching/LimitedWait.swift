import Synchronization

/// A wait for a response that ends after a time, while the request goes on.
final class LimitedWait: Sendable {
    private typealias Waiter = CheckedContinuation<Response?, any Error>

    private enum State {
        case empty
        case waiting(Waiter)
        case delivered(Result<Response, any Error>)
        case ended
    }

    private let state = Mutex(State.empty)

    /// Delivers the outcome.
    ///
    /// - Returns: The outcome if the caller no longer waits; otherwise nil.
    func deliver(_ outcome: Result<Response, any Error>) -> Result<Response, any Error>? {
        let (waiter, unwanted) = state.withLock { state -> (Waiter?, Result<Response, any Error>?) in
            switch state {
            case .empty:
                state = .delivered(outcome)
                return (nil, nil)
            case .waiting(let waiter):
                state = .ended
                return (waiter, nil)
            case .delivered, .ended:
                return (nil, outcome)
            }
        }
        waiter?.resume(with: outcome.map { $0 })
        return unwanted
    }

    /// Waits for the outcome.
    ///
    /// - Parameters:
    ///   - limit: How long to wait.
    ///   - clock: The clock that measures the limit.
    ///   - spawner: Starts the task that measures.
    ///   - task: The task that delivers the outcome; it is cancelled with the caller, and continues when the time is
    ///     over.
    /// - Returns: The response; nil when the time was over first.
    /// - Throws: The delivered error, or `CancellationError`.
    func value(
        within limit: Duration, on clock: any DatedClock, by spawner: any TaskSpawner, orCancel task: Task<Void, Never>
    ) async throws -> Response? {
        let timer = spawner.spawn { [self] in
            guard (try? await clock.sleep(for: limit)) != nil else { return }
            end(.success(nil))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                if let outcome = wait(waiter) { waiter.resume(with: outcome) }
            }
        } onCancel: {
            end(.failure(CancellationError()))
            task.cancel()
        }
    }

    private func wait(_ waiter: CheckedContinuation<Response?, any Error>) -> Result<Response?, any Error>? {
        state.withLock { state in
            switch state {
            case .delivered(let outcome):
                state = .ended
                return outcome.map { $0 }
            case .ended:
                return Task.isCancelled ? .failure(CancellationError()) : .success(nil)
            case .empty, .waiting:
                state = .waiting(waiter)
                return nil
            }
        }
    }

    private func end(_ outcome: Result<Response?, any Error>) {
        let waiter = state.withLock { state -> Waiter? in
            switch state {
            case .waiting(let waiter):
                state = .ended
                return waiter
            case .empty:
                state = .ended
                return nil
            case .delivered, .ended:
                // An outcome that is already there is always taken.
                return nil
            }
        }
        waiter?.resume(with: outcome)
    }
}
