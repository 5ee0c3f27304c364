import Synchronization

/// Counts the transfers that a transport has under way, and refuses new ones once the transport was closed.
///
/// This is the part of ``ClosableConnection/close()`` that does not depend on the network. A transport calls ``begin()`` in
/// `send(_:)` before anything is sent, ``end()`` once however the transfer ends, and ``close()`` in its own `close()`, after
/// which it shuts down the network if ``isOver`` says so.
public final class OpenTransfers: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = Locked(State())

    /// Creates a count of zero for a transport that is open.
    public init() {}

    /// Counts a transfer that begins; one ``end()`` follows each.
    ///
    /// - Throws: ``TransportError`` with the code ``TransportError/Code/closed`` when the transport was closed.
    public func begin() throws(TransportError) {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
        guard isOpen else { throw TransportError(.closed, at: .connecting) }
    }

    /// Counts a transfer that has ended.
    public func end() {
        let waiters = state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Refuses new transfers, and waits until those under way have ended or the caller is cancelled.
    public func close() async {
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

    /// Whether the transport was closed and no transfer is under way any more.
    public var isOver: Bool {
        state.withLock { $0.isClosed && $0.count == 0 }
    }
}
