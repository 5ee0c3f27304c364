import DecorumAuthentication
import DecorumTesting
import Synchronization

/// A store that fails or waits where a test wants it, counts what is read, and tells no changes.
final class FailingStore: TokenStore {
    private let base: MemoryTokenStore
    private let gate: Gate?
    let reads = Counter()
    private let flags = Mutex((reading: false, writing: false))

    init(_ token: Token?, gate: Gate? = nil) {
        self.gate = gate
        base = MemoryTokenStore(token)
    }

    var failsReading: Bool {
        get { flags.withLock { $0.reading } }
        set { flags.withLock { $0.reading = newValue } }
    }

    var failsWriting: Bool {
        get { flags.withLock { $0.writing } }
        set { flags.withLock { $0.writing = newValue } }
    }

    func token() async throws -> Token? {
        reads.add(1)
        try await gate?.wait()
        if failsReading { throw TokenStoreError(.system(5)) }
        return await base.token()
    }

    func replace(_ expected: Token?, with token: Token?) async throws -> Bool {
        if failsWriting { throw TokenStoreError(.system(28)) }
        return await base.replace(expected, with: token)
    }

    func changes() -> AsyncStream<Token?> { AsyncStream { $0.finish() } }

    func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        try await base.exclusively(work)
    }
}
