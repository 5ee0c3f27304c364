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

extension MemoryTokenStore: CustomStringConvertible, CustomReflectable {
    /// A fixed name.
    public var description: String { "MemoryTokenStore" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
