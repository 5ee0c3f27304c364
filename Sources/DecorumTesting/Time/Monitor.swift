import Synchronization

/// A value behind a lock, and the tasks that wait for it to meet a condition.
///
/// Waiting tasks are woken by the change that they wait for; nothing polls.
final class Monitor<State: Sendable>: Sendable {
    /// Tells whether the wait is over; may take what it waited for, and throws where waiting has become pointless.
    typealias Condition = @Sendable (inout State) throws -> Bool

    private let storage: Mutex<Storage>

    init(_ state: State) {
        storage = Mutex(Storage(state: state))
    }

    var state: State {
        storage.withLock { $0.state }
    }

    /// Looks at the state without copying it.
    func read<Result: Sendable>(_ body: (State) -> Result) -> Result {
        storage.withLock { body($0.state) }
    }

    func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, woken) = storage.withLock { storage in
            let result = change(&storage.state)
            return (result, storage.takeMetWaiters())
        }
        for waiter in woken {
            waiter.continuation.resume(with: waiter.outcome)
        }
        return result
    }

    /// Waits, first come first served, until the condition is met.
    func wait(until condition: @escaping Condition) async throws {
        let id = storage.withLock { storage in
            storage.lastID += 1
            return storage.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = Waiter(id: id, condition: condition, continuation: continuation)
                let outcome = storage.withLock { $0.admit(waiter, isCancelled: Task.isCancelled) }
                guard let outcome else { return }
                continuation.resume(with: outcome)
            }
        } onCancel: {
            let waiter = storage.withLock { $0.removeWaiter(id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private struct Waiter {
        let id: Int
        let condition: Condition
        let continuation: CheckedContinuation<Void, any Error>
        var outcome: Result<Void, any Error> = .success(())
    }

    private struct Storage {
        var state: State
        var waiters: [Waiter] = []
        var lastID = 0

        /// Gives the outcome where there is one at once; otherwise the waiter stays.
        mutating func admit(_ waiter: Waiter, isCancelled: Bool) -> Result<Void, any Error>? {
            // The cancellation handler may have run before the waiter was there to be found.
            guard !isCancelled else { return .failure(CancellationError()) }
            if let outcome = evaluate(waiter.condition) { return outcome }
            waiters.append(waiter)
            return nil
        }

        mutating func removeWaiter(_ id: Int) -> Waiter? {
            waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0) }
        }

        mutating func takeMetWaiters() -> [Waiter] {
            guard !waiters.isEmpty else { return [] }
            var met: [Waiter] = []
            var others: [Waiter] = []
            for var waiter in waiters {
                if let outcome = evaluate(waiter.condition) {
                    waiter.outcome = outcome
                    met.append(waiter)
                } else {
                    others.append(waiter)
                }
            }
            waiters = others
            return met
        }

        private mutating func evaluate(_ condition: Condition) -> Result<Void, any Error>? {
            do {
                return try condition(&state) ? .success(()) : nil
            } catch {
                return .failure(error)
            }
        }
    }
}

extension Monitor<Int> {
    /// Adds one and returns the sum.
    func increment() -> Int {
        update { count in
            count += 1
            return count
        }
    }
}
