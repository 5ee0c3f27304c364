import Synchronization

/// A store that keeps the token in memory.
public final class MemoryTokenStore: TokenStore {
    private struct State {
        var token: Token?
        var listeners: [Int: AsyncStream<Token?>.Continuation] = [:]
        var lastListener = 0
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// Creates a store.
    ///
    /// - Parameter token: The token that is there at first.
    public init(_ token: Token? = nil) {
        state = Mutex(State(token: token))
    }

    /// Reads the token.
    public func token() async -> Token? { state.withLock { $0.token } }

    /// Replaces the token, if it is still the one that is expected.
    public func replace(_ expected: Token?, with token: Token?) async -> Bool {
        // The listeners are told under the lock, so that they hear of changes in the order in which they were made.
        state.withLock { state in
            guard state.token == expected else { return false }
            state.token = token
            for listener in state.listeners.values { listener.yield(token) }
            return true
        }
    }

    /// Returns the tokens that are stored from now on.
    public func changes() -> AsyncStream<Token?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Token?.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = continuation
            return state.lastListener
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    /// Performs work while no other caller of this store does, in the order in which they came.
    ///
    /// A caller that is cancelled waits for its turn too, since the work itself may have to go on.
    public func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(continuation) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
        defer { endTurn() }
        return try await work()
    }

    private func endTurn() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}

extension MemoryTokenStore: SecretHolder {
    /// A fixed name.
    public var description: String { "MemoryTokenStore" }
}
