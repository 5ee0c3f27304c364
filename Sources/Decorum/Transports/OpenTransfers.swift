/// Counts what a transport has under way, and refuses new requests once the transport was closed.
final class OpenTransfers: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = Locked(State())

    /// Counts a transfer that begins; each is followed by one ``end()``.
    func begin() throws(TransportError) {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
        guard isOpen else { throw TransportError(.closed, at: .connecting) }
    }

    /// Takes note that a transfer has ended.
    func end() {
        let waiters = state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Refuses new transfers, and waits for the end of those that are under way, or for the caller's cancellation.
    func close() async {
        let number = state.withLock { state in
            state.isClosed = true
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.count > 0, !Task.isCancelled else { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    /// Whether the transport was closed and nothing is under way any more.
    var isOver: Bool {
        state.withLock { $0.isClosed && $0.count == 0 }
    }
}
