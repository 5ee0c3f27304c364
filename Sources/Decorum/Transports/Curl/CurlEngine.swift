#if os(Linux)
import Foundation

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

/// The engines of a connection: the main one, and one for requests that avoid HTTP/2, which starts with the first of them.
///
/// Each has its own connections. On common ones, an HTTP/1.1 connection would make libcurl open further HTTP/2 connections
/// to its host, and some versions of libcurl send a request that asks for HTTP/1.1 over an HTTP/2 connection.
final class CurlEngines: Sendable {
    let main: CurlEngine
    /// Counts the exchanges of all engines.
    let transfers = OpenTransfers()
    private let library: CurlLibrary
    private let options: CurlOptions
    private let second = Locked<CurlEngine?>(nil)

    init(_ library: CurlLibrary, _ options: CurlOptions) throws(CurlUnavailableError) {
        guard let main = Self.start(library, options, counting: transfers) else { throw .unusable(library.version) }
        self.main = main
        self.library = library
        self.options = options
    }

    /// The engine that avoids HTTP/2.
    var avoidingHTTP2: CurlEngine {
        get throws(TransportError) {
            let engine = second.withLock { second in
                if second == nil { second = Self.start(library, options.avoidingHTTP2, counting: transfers) }
                return second
            }
            guard let engine else { throw TransportError(.limitExceeded, at: .connecting) }
            return engine
        }
    }

    /// Starts an engine with its thread; nil where libcurl has no memory.
    private static func start(
        _ library: CurlLibrary, _ options: CurlOptions, counting transfers: OpenTransfers
    ) -> CurlEngine? {
        guard let multi = CurlMulti(library) else { return nil }
        let queue = CurlCommandQueue(multi)
        Thread.detachNewThread { CurlLoop(queue, options).run() }
        return CurlEngine(queue, counting: transfers)
    }

    /// Refuses new exchanges, and ends the threads with their idle connections once no exchange is running.
    func close() async {
        await transfers.close()
        guard transfers.isOver else { return }
        main.stop()
        second.withLock { $0 }?.stop()
    }
}
#endif
