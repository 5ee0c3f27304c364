import Synchronization

/// A store that keeps the token in memory.
public final class MemoryTokenStore: TokenStore {
    private let held: Mutex<Token?>
    private let listeners = TokenListeners()
    private let turns = Turns()

    /// Creates a store.
    ///
    /// - Parameter token: The token that is there at first.
    public init(_ token: Token? = nil) {
        held = Mutex(token)
    }

    /// Reads the token.
    public func token() async -> Token? { held.withLock { $0 } }

    /// Replaces the token, if it is still the one that is expected.
    public func replace(_ expected: Token?, with token: Token?) async -> Bool {
        // The listeners are told under the lock, so that they hear of changes in the order in which they were made.
        held.withLock { held in
            guard held == expected else { return false }
            held = token
            listeners.tell(token)
            return true
        }
    }

    /// Returns the tokens that are stored from now on.
    public func changes() -> AsyncStream<Token?> { listeners.stream() }

    /// Performs work while no other caller of this store does.
    public func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        try await turns.perform(work)
    }
}

extension MemoryTokenStore: SecretHolder {
    /// A fixed name.
    public var description: String { "MemoryTokenStore" }
}

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

/// The streams to which a store tells its changes.
final class TokenListeners: Sendable {
    private struct State {
        var continuations: [Int: AsyncStream<Token?>.Continuation] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Tells a change to all streams.
    func tell(_ token: Token?) {
        let continuations = state.withLock { Array($0.continuations.values) }
        for continuation in continuations { continuation.yield(token) }
    }

    /// Makes a stream.
    func stream() -> AsyncStream<Token?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Token?.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.continuations[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.continuations.removeValue(forKey: number) }
        }
        return stream
    }
}
