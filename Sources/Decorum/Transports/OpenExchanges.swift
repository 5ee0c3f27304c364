/// Counts what is under way on a transport, which can be closed once.
final class OpenExchanges: Sendable {
    fileprivate struct State {
        var count = 0
        var isClosed = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Adds an exchange, unless the transport was closed.
    func begin() throws(TransportError) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return state.isClosed
        }
        guard !isClosed else { throw TransportError(.closed, at: .connecting) }
    }

    /// Takes away an exchange that has ended.
    func end() {
        let waiters = state.withLock { state in
            state.count -= 1
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Lets no exchange begin any more, and waits for the end of those that have.
    func close() async {
        await withCheckedContinuation { continuation in
            let waiters = state.withLock { state in
                state.isClosed = true
                state.waiters.append(continuation)
                return state.takeWaiters()
            }
            for waiter in waiters { waiter.resume() }
        }
    }
}

extension OpenExchanges.State {
    /// Takes those who wait, once nothing is under way.
    fileprivate mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
        guard isClosed, count == 0, !waiters.isEmpty else { return [] }
        defer { waiters = [] }
        return waiters
    }
}
