import Synchronization

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
