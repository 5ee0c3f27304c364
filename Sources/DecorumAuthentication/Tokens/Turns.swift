import Synchronization

/// Lets callers work one after the other, in the order in which they came.
final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Performs work when no other caller does.
    ///
    /// A caller that is cancelled waits for its turn too, since the work itself may have to go on.
    func perform<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        await begin()
        defer { end() }
        return try await work()
    }

    private func begin() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}
