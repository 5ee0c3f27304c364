import Synchronization

/// A value behind a lock, and the tasks that wait for it to meet a condition.
///
/// Waiting tasks are woken by the change that they wait for; nothing polls.
package final class Monitor<State: Sendable>: Sendable {
    /// Tells whether the wait is over; may take what it waited for, and throws where waiting has become pointless.
    package typealias Condition = @Sendable (inout State) throws -> Bool
    /// Adds to a number of waiting tasks in the state.
    package typealias Count = @Sendable (inout State, _ addend: Int) -> Void

    private let storage: Mutex<Storage>

    package init(_ state: State) {
        storage = Mutex(Storage(state: state))
    }

    package var state: State { storage.withLock { $0.state } }

    /// Looks at the state without copying it.
    package func read<Result: Sendable>(_ body: (State) -> Result) -> Result {
        storage.withLock { body($0.state) }
    }

    package func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        resumingMetWaiters { change(&$0.state) }
    }

    /// Waits, first come first served, until the condition is met.
    ///
    /// - Parameters:
    ///   - count: Counts the task, from the beginning of its wait to the end, and not until it has a thread again.
    ///   - condition: Tells whether the wait is over.
    /// - Throws: `CancellationError` when the task is cancelled first, or the error of the condition.
    package func wait(counting count: Count? = nil, until condition: @escaping Condition) async throws {
        let id = storage.withLock { storage in
            storage.lastID += 1
            return storage.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = Waiter(id: id, count: count, condition: condition, continuation: continuation)
                let outcome = resumingMetWaiters { $0.admit(waiter, isCancelled: Task.isCancelled) }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = resumingMetWaiters { $0.removeWaiter(id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private func resumingMetWaiters<Result: Sendable>(after change: (inout Storage) -> Result) -> Result {
        let (result, woken) = storage.withLock { storage in
            let result = change(&storage)
            return (result, storage.takeMetWaiters())
        }
        for waiter in woken {
            waiter.continuation.resume(with: waiter.outcome)
        }
        return result
    }

    private struct Waiter: Sendable {
        let id: Int
        let count: Count?
        let condition: Condition
        let continuation: CheckedContinuation<Void, any Error>
        var outcome: Result<Void, any Error> = .success(())
    }

    private struct Storage {
        var state: State
        var waiters: [Waiter] = []
        var lastID = 0

        /// Gives the outcome if it is known at once; otherwise the waiter stays.
        mutating func admit(_ waiter: Waiter, isCancelled: Bool) -> Result<Void, any Error>? {
            // The cancellation handler may have run before the waiter was there to be found.
            guard !isCancelled else { return .failure(CancellationError()) }
            if let outcome = evaluate(waiter.condition) { return outcome }
            waiters.append(waiter)
            waiter.count?(&state, 1)
            return nil
        }

        mutating func removeWaiter(_ id: Int) -> Waiter? {
            guard let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
            waiters[index].count?(&state, -1)
            return waiters.remove(at: index)
        }

        mutating func takeMetWaiters() -> [Waiter] {
            guard !waiters.isEmpty else { return [] }
            var met: [Waiter] = []
            var others: [Waiter] = []
            for var waiter in waiters {
                if let outcome = evaluate(waiter.condition) {
                    waiter.outcome = outcome
                    waiter.count?(&state, -1)
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
    package func increment() -> Int {
        update { count in
            count += 1
            return count
        }
    }
}
