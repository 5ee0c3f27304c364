import Synchronization

/// One refresh, or one look into the store, and all callers who wait for its end.
final class RefreshUnderWay: Sendable {
    private struct State {
        var result: Result<Void, any Error>?
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var last = 0
    }

    /// The sign-in that the refresh belongs to.
    let generation: Int
    /// The token to replace; nil where it is not known yet.
    let replaced: Token?
    /// Whether the source is not asked, since it has just given the token.
    let looksOnly: Bool
    private let state = Mutex(State())

    init(generation: Int, replacing replaced: Token?, looksOnly: Bool = false) {
        self.generation = generation
        self.replaced = replaced
        self.looksOnly = looksOnly
    }

    /// Waits for the end; a caller who is cancelled leaves at once, and the refresh goes on.
    func wait() async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if let result = state.result { return result }
                    // The handler of a task that was cancelled before has run already, and found no continuation.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }

    /// Ends the refresh for all callers; only the first end counts.
    func end(with result: Result<Void, any Error>) {
        let waiting = state.withLock { state in
            guard state.result == nil else { return [CheckedContinuation<Void, any Error>]() }
            state.result = result
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}
