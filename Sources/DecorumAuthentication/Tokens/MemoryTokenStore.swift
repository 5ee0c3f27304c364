import Decorum
import Synchronization

/// A store that keeps the token in memory.
public final class MemoryTokenStore: TokenStore {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let token: Updates<Token?>
    private let state = Mutex(State())

    /// Creates a store.
    ///
    /// - Parameter token: The token that is there at first.
    public init(_ token: Token? = nil) {
        self.token = Updates(token)
    }

    /// Reads the token.
    public func token() async -> Token? { token.value }

    /// Replaces the token, if it is still the one that is expected.
    public func replace(_ expected: Token?, with token: Token?) async -> Bool {
        var isReplaced = false
        self.token.update { present in
            isReplaced = present == expected
            if isReplaced { present = token }
        }
        return isReplaced
    }

    /// Returns the tokens that are stored from now on.
    public func changes() -> AsyncStream<Token?> { token.stream(ofLaterOnes: true) }

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
