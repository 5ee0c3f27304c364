#if os(Linux)
/// Ends the thread that transfers run on, once nothing can start another transfer.
///
/// The connection and each exchange hold the engine; the thread holds only the queue.
final class CurlEngine: Sendable {
    private let queue: CurlCommandQueue
    /// Counts the exchanges of the connection, each from before it starts until its end.
    let transfers: OpenTransfers

    init(_ queue: CurlCommandQueue, counting transfers: OpenTransfers) {
        self.queue = queue
        self.transfers = transfers
    }

    deinit {
        stop()
    }

    /// Ends the thread with its connections.
    func stop() {
        queue.post(.stop)
    }

    func post(_ command: CurlCommandQueue.Command) {
        queue.post(command)
    }
}

/// The commands for an engine's thread.
///
/// The lock makes sure that no thread wakes the handle after it was freed.
final class CurlCommandQueue: Sendable {
    enum Command {
        case start(CurlExchange)
        case receive(CurlExchange)
        case send(CurlExchange)
        case remove(CurlExchange)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        var isSleeping = false
        var isClosed = false
    }

    let multi: CurlMulti
    private let state = Locked(State())

    init(_ multi: CurlMulti) {
        self.multi = multi
    }

    func post(_ command: Command) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.commands.append(command)
            guard state.isSleeping else { return }
            state.isSleeping = false
            multi.wakeUp()
        }
    }

    /// Moves all commands into an empty array, whose storage is reused for the next ones.
    func take(into commands: inout [Command]) {
        state.withLock { swap(&$0.commands, &commands) }
    }

    /// Waits until the network or a command needs the thread, or the time is over.
    func sleep(forMilliseconds milliseconds: Int32) {
        let isIdle = state.withLock { state in
            state.isSleeping = state.commands.isEmpty
            return state.isSleeping
        }
        guard isIdle else { return }
        multi.poll(forMilliseconds: milliseconds)
        state.withLock { $0.isSleeping = false }
    }

    /// Frees the handle, and ignores later commands.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.commands = []
        }
        multi.close()
    }
}
#endif
