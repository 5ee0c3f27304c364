#if os(Linux)
import DecorumCurl
import Dispatch
import Foundation
import Synchronization

/// Ends the thread that transfers run on, once nothing can start another transfer.
///
/// The connection and each exchange hold the engine; the thread holds only the loop.
final class CurlEngine: Sendable {
    let loop: CurlLoop
    /// Counts the exchanges of the connection, each from before it starts until its end.
    let transfers: OpenTransfers

    /// Starts the thread; nil if libcurl has no memory.
    init?(_ library: CurlLibrary, _ options: CurlOptions, counting transfers: OpenTransfers) {
        guard let multi = CurlMulti(library) else { return nil }
        loop = CurlLoop(multi, options)
        Thread.detachNewThread { [loop] in loop.run() }
        self.transfers = transfers
    }

    deinit {
        post(.stop)
    }

    func post(_ command: CurlLoop.Command) {
        if loop.add(command) { loop.run(command) }
    }

    var openConnections: Int { loop.multi.openConnections.load(ordering: .relaxed) }
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
        guard let main = CurlEngine(library, options, counting: transfers) else { throw .unusable(library.version) }
        self.main = main
        self.library = library
        self.options = options
    }

    /// The engine that avoids HTTP/2.
    var avoidingHTTP2: CurlEngine {
        get throws(TransportError) {
            let engine = second.withLock { second in
                if second == nil { second = CurlEngine(library, options.avoidingHTTP2, counting: transfers) }
                return second
            }
            guard let engine else { throw TransportError(.limitExceeded, at: .connecting) }
            return engine
        }
    }

    /// The number of connections of all engines that are open.
    var openConnections: Int { main.openConnections + (second.withLock { $0 }?.openConnections ?? 0) }

    /// Refuses new exchanges, and ends the threads with their idle connections once no exchange is running.
    func close() async {
        await transfers.close()
        guard transfers.isOver else { return }
        main.post(.stop)
        second.withLock { $0 }?.post(.stop)
    }
}

/// A handle of libcurl that runs many transfers and owns their connections.
///
/// `@unchecked Sendable`, since one thread at a time uses it, except for ``wakeUp()``, which any thread may call until
/// ``close()``, and for the number of connections.
@safe final class CurlMulti: @unchecked Sendable {
    let library: CurlLibrary
    let openConnections = Atomic(0)
    private let pointer: UnsafeMutableRawPointer

    init?(_ library: CurlLibrary) {
        guard let pointer = unsafe decorum_curl_multi_init(library.functions) else { return nil }
        self.library = library
        unsafe self.pointer = pointer
        unsafe decorum_curl_multi_close_on_exec(library.functions, pointer)
    }

    /// Whether any thread may send on an open connection: since 7.87, libcurl raises no SIGPIPE over TLS.
    var allowsAnyThread: Bool { library.number >= 0x07_57_00 && openConnections.load(ordering: .relaxed) > 0 }

    func set(_ option: decorum_curl_multi_option, _ value: Int) {
        _ = unsafe decorum_curl_multi_set_number(library.functions, pointer, option, value)
    }

    /// Adds a transfer; returns whether libcurl has accepted it.
    func add(_ easy: CurlEasy) -> Bool {
        unsafe decorum_curl_multi_add(library.functions, pointer, easy.pointer) == DECORUM_CURL_MULTI_OK
    }

    func remove(_ easy: CurlEasy) {
        _ = unsafe decorum_curl_multi_remove(library.functions, pointer, easy.pointer)
    }

    /// Sends and receives as much as is possible without waiting.
    func perform() {
        _ = unsafe decorum_curl_multi_perform(library.functions, pointer)
    }

    /// Takes a transfer that has ended, by the identifier of its handle; nil without another.
    func nextEnded() -> (identifier: Int, code: Int32)? {
        var code: Int32 = 0
        guard let easy = unsafe decorum_curl_multi_next_ended(library.functions, pointer, &code) else { return nil }
        return (Int(bitPattern: easy), code)
    }

    /// Waits until the network needs the thread, another thread wakes it, or the time is over; returns whether it was the
    /// network.
    @discardableResult func poll(forMilliseconds milliseconds: Int32) -> Bool {
        unsafe decorum_curl_multi_poll(library.functions, pointer, milliseconds) > 0
    }

    func wakeUp() {
        _ = unsafe decorum_curl_multi_wakeup(library.functions, pointer)
    }

    /// Closes all connections and frees the handle, which must not be used afterwards.
    func close() {
        unsafe decorum_curl_multi_cleanup(library.functions, pointer)
    }
}

/// Runs the transfers of a connection on its thread or, while that has nothing to do, on the thread of a caller.
///
/// `@unchecked Sendable`: one thread at a time has the loop, and it alone uses the variables and libcurl's handles. The lock
/// also makes sure that no thread wakes the handle after it was freed.
@safe final class CurlLoop: @unchecked Sendable {
    enum Command {
        case start(CurlExchange)
        case receive(CurlExchange)
        case send(CurlExchange)
        case remove(CurlExchange)
        /// Ends the thread with its connections.
        case stop
    }

    /// What has the loop: a thread that looks for commands before it waits, one that waits for the network, or nothing,
    /// while the loop's own thread waits for ``isWanted``.
    private enum Holder { case busy, polling, free, closed }

    private struct State: ~Copyable {
        var commands: [Command] = []
        var holder = Holder.busy
    }

    /// No more handles than this are kept for reuse.
    private static let keptHandles = 256
    /// How often a turn looks for more content: commands, and the readers of other exchanges, wait until its end.
    private static let looks = 64

    let multi: CurlMulti
    private let state = Locked(State())
    private let isWanted = DispatchSemaphore(value: 0)
    private let options: CurlOptions
    private let context: CurlTransfer.Context
    private var active: [Int: CurlTransfer] = [:]
    private var idle: [CurlEasy] = []
    private var admission: CurlAdmission<CurlExchange>
    /// The exchanges that have waited and may start.
    private var admitted: [CurlExchange] = []
    private var commands: [Command] = []
    private var (isRunning, isFollowing) = (true, false)
    /// The host of the last transfer, if that has left an open connection.
    private var lastHost: CurlHost?

    init(_ multi: CurlMulti, _ options: CurlOptions) {
        (self.multi, self.options) = (multi, options)
        context = CurlTransfer.Context(options, multi)
        admission = CurlAdmission(limit: options.connectionsPerHost) { $0.isRunning }
    }

    func run() {
        unsafe decorum_curl_enter_thread("decorum.curl")
        for (option, value) in options.limits { multi.set(option, min(value, Int(Int32.max))) }
        while isRunning {
            // The storage of the commands serves the next ones too.
            state.withLock { swap(&$0.commands, &commands) }
            turn()
            guard isRunning else { break }
            if !isIdle {
                sleep(forMilliseconds: isFollowing ? 1 : 60_000)
            } else if set(.free) {
                isWanted.wait()
            }
        }
        // Transfers of a closed connection may have ended without a command to remove them.
        for transfer in Array(active.values) { remove(transfer, isClean: false) }
        admitted = []
        idle = []
        // A command may have the last reference to its engine, which adds another command when it is freed.
        let late = state.withLock { exchange(&$0, with: State(holder: .closed)).commands }
        // libcurl closes its connections here, and calls back for each.
        withExtendedLifetime((context, late)) { multi.close() }
    }

    /// Adds a command; returns true if instead the caller has the loop from now on, and has to run the command.
    func add(_ command: Command) -> Bool {
        state.withLock { state in
            guard state.holder != .closed else { return false }
            defer { state.holder = .busy }
            if state.holder == .free, Self.lends(to: command, after: lastHost) { return true }
            state.commands.append(command)
            if state.holder == .polling { multi.wakeUp() }
            if state.holder == .free { isWanted.signal() }
            return false
        }
    }

    /// Whether the caller of a command may have the free loop: to send what is in memory over an open connection.
    static func lends(to command: Command, after host: CurlHost?) -> Bool {
        if case .start(let exchange) = command { exchange.isQuick && exchange.request.host == host } else { false }
    }

    /// Sets what has the loop; returns false if there are commands, which it has to perform before.
    private func set(_ holder: Holder) -> Bool {
        state.withLock { state in
            if state.commands.isEmpty { state.holder = holder }
            return state.commands.isEmpty
        }
    }

    /// Waits until the network or a command needs the thread, or the time is over.
    private func sleep(forMilliseconds milliseconds: Int32) {
        guard set(.polling) else { return }
        multi.poll(forMilliseconds: milliseconds)
        state.withLock { $0.holder = .busy }
    }

    /// Runs a command on the thread of a caller that has the loop, and then gives it back, also to the commands of others.
    ///
    /// A close server answers sooner than two changes of threads take, so its answer is worth a short wait.
    func run(_ command: Command) {
        commands.append(command)
        turn()
        if context.answersSoon, active.first?.value.isConnectionReused == true {
            // Without an answer, the next request does not wait.
            context.answersSoon = false
            sleep(forMilliseconds: 1)
            turn()
        }
        if !isIdle || !set(.free) { isWanted.signal() }
    }

    /// Whether neither a transfer nor a connection that is being closed needs the loop.
    private var isIdle: Bool { isRunning && active.isEmpty && lastHost != nil }

    private func turn() {
        let hasCommands = !commands.isEmpty
        for command in commands { isRunning = perform(command) && isRunning }
        commands.removeAll(keepingCapacity: true)
        lookForEnds()
        for _ in 0..<Self.looks {
            multi.perform()
            completeEnded()
            // To wake a reader takes longer than to receive a little more.
            guard !context.eventful.isEmpty, context.eventful.allSatisfy(\.awaitsMore), multi.poll(forMilliseconds: 0)
            else { break }
        }
        // libcurl may just have read the end of a connection. It does not report this, and the socket does not wake
        // the thread again. The ends of streams are left to the next turn, since libcurl has to look for them.
        lookForEnds { $0.response.endsWithConnection }
        startAdmitted()
        // libcurl 7.88 may forget that a transfer can go on, such as with bytes that its connection has read already, and
        // no socket wakes the thread then. A turn handles all transfers, so one in which something happened is followed by
        // another one soon. The end of an unreported stream is no event, and shows in the next turn.
        let isAwake = hasCommands || !context.eventful.isEmpty || (!isFollowing && !context.unreported.isEmpty)
        isFollowing = !active.isEmpty && isAwake
        wakeReaders()
    }

    /// Returns whether to go on.
    private func perform(_ command: Command) -> Bool {
        switch command {
        case .start(let exchange): start(exchange)
        case .receive(let exchange): exchange.transfer.resume(sending: false)
        case .send(let exchange): exchange.transfer.resume(sending: true)
        case .remove(let exchange): remove(exchange)
        case .stop: return false
        }
        return true
    }

    private func lookForEnds(of isLookedAt: (CurlTransfer) -> Bool = { _ in true }) {
        guard !context.unreported.isEmpty else { return }
        context.unreported.removeAll { $0.exchange?.isRunning != true }
        for transfer in context.unreported where isLookedAt(transfer) { transfer.lookForEnd() }
    }

    private func wakeReaders() {
        guard let first = context.eventful.first else { return }
        // The exchanges of a connection share their clock.
        let now = first.watch.clock.now
        for exchange in context.eventful {
            let hasProgress = exchange.transfer.endTurn()
            exchange.wakeReader(notingProgressAt: hasProgress ? now : nil)
        }
        context.eventful.removeAll(keepingCapacity: true)
    }

    private func start(_ exchange: CurlExchange) {
        let host = exchange.request.host
        if exchange.isRunning, admission.admits(exchange, to: host, isSharing: allowsSharing(with: host)) {
            begin(exchange)
        }
    }

    /// Whether several requests may share a connection to a host, as streams of HTTP/2.
    private func allowsSharing(with host: CurlHost) -> Bool {
        options.offersHTTP2(isSecure: host.isSecure) && !(host.isSecure && context.http1Hosts.contains(host))
    }

    private func startAdmitted() {
        for host in context.upgraded { admitted += admission.admit(to: host) }
        context.upgraded = []
        while !admitted.isEmpty {
            let exchanges = admitted
            admitted = []
            for exchange in exchanges {
                exchange.transfer.endWait(of: exchange)
                begin(exchange)
            }
        }
    }

    /// Lets the next exchange have the place of one that has ended.
    private func leave(_ host: CurlHost) {
        admitted += admission.leave(host, isSharing: allowsSharing(with: host))
    }

    private func begin(_ exchange: CurlExchange) {
        guard exchange.isRunning, let easy = idle.popLast() ?? CurlEasy(multi.library) else {
            exchange.abort(with: TransportError(.other, at: .connecting))
            return leave(exchange.request.host)
        }
        if !easy.isPlain {
            options.apply(to: easy)
            CurlTransfer.setCallbacks(of: easy, context)
            // Since 8.6, a handle adds up the waits of its transfers until it is reset.
            easy.isPlain = !multi.library.tellsQueueTime
        }
        options.applyVersion(to: easy, isSecure: exchange.request.isSecure)
        let transfer = exchange.transfer
        transfer.mayWaitUntold = options.limitsAllHosts || allowsSharing(with: exchange.request.host)
        transfer.begin(exchange, on: easy, context)
        active[easy.identifier] = transfer
        if easy.refusal != DECORUM_CURL_OK {
            transfer.complete(easy.refusal)
            release(transfer)
        } else if !multi.add(easy) {
            exchange.abort(with: TransportError(.other, at: .connecting))
            release(transfer)
        }
    }

    private func completeEnded() {
        while let (identifier, code) = multi.nextEnded() {
            guard let transfer = active[identifier] else { continue }
            if transfer.isRestarting, let exchange = transfer.exchange {
                remove(transfer, isClean: false, keepsPlace: true)
                begin(exchange)
                continue
            }
            transfer.complete(code)
            remove(transfer, isClean: code == DECORUM_CURL_OK)
        }
    }

    private func remove(_ exchange: CurlExchange) {
        guard let easy = exchange.transfer.easy else { return admission.noteEnd(for: exchange.request.host) }
        easy.closeConnection()
        remove(exchange.transfer, isClean: false)
    }

    private func remove(_ transfer: CurlTransfer, isClean: Bool, keepsPlace: Bool = false) {
        // libcurl 7.88 leaks the bytes that a paused stream has refused, unless the stream resumes before its end.
        transfer.discardHeldBytes()
        if let easy = transfer.easy { multi.remove(easy) }
        let isReusable = isClean && !transfer.leavesTraces && idle.count < Self.keptHandles
        release(transfer, isReusable: isReusable, keepsPlace: keepsPlace)
    }

    /// Keeps a handle for the next transfer only when its last one ended well and left no traces on it.
    private func release(_ transfer: CurlTransfer, isReusable: Bool = false, keepsPlace: Bool = false) {
        guard let easy = transfer.easy else { return }
        active[easy.identifier] = nil
        lastHost = isReusable && multi.allowsAnyThread ? transfer.exchange?.request.host : nil
        if !keepsPlace, let exchange = transfer.exchange { leave(exchange.request.host) }
        easy.reset()
        if isReusable { idle.append(easy) }
        transfer.end()
    }
}

/// A server to which connections are counted.
struct CurlHost: Hashable, Sendable {
    let isSecure: Bool
    let authority: String
}

/// The exchanges that wait for a connection to their host, in the order in which they were sent.
///
/// libcurl looks at all of its transfers in each turn, also at those for which it has no connection. So an exchange that
/// needs a connection for itself is given to libcurl only once there is one for it.
struct CurlAdmission<Exchange> {
    private struct Line {
        var active = 0
        /// The exchanges in their order, nil up to the first that still waits.
        var waiting: [Exchange?] = []
        var first = 0
        /// How many have ended while they waited, at most.
        var ended = 0

        mutating func takeFirst() -> Exchange? {
            guard first < waiting.count else { return nil }
            defer { first += 1 }
            return waiting[first].take()
        }

        /// Removes the exchanges that were taken or have ended, once they are the half.
        mutating func clean(where isRunning: (Exchange) -> Bool) {
            guard first + ended > 16, (first + ended) * 2 > waiting.count else { return }
            waiting = waiting[first...].filter { $0.map(isRunning) ?? false }
            (first, ended) = (0, 0)
        }
    }

    private let limit: Int
    private let isRunning: (Exchange) -> Bool
    private var lines: [CurlHost: Line] = [:]

    init(limit: Int, isRunning: @escaping (Exchange) -> Bool) {
        self.limit = limit
        self.isRunning = isRunning
    }

    /// The number of exchanges that wait, or have ended and were not removed yet.
    var waitingCount: Int { lines.values.reduce(0) { $0 + $1.waiting.count - $1.first } }

    /// Whether an exchange may start now, as each may if they share a connection; else it waits until another one leaves.
    mutating func admits(_ exchange: Exchange, to host: CurlHost, isSharing: Bool) -> Bool {
        var line = lines[host].take() ?? Line()
        defer { lines[host] = line }
        guard isSharing || line.active < limit else {
            line.waiting.append(exchange)
            return false
        }
        line.active += 1
        return true
    }

    /// Notes the end of an exchange that has started, and returns the exchanges that may start now.
    mutating func leave(_ host: CurlHost, isSharing: Bool) -> [Exchange] {
        admit(to: host, upTo: isSharing ? .max : limit, leaving: 1)
    }

    /// Returns the exchanges that may start now; all of them if the host's connections turned out to be shared.
    mutating func admit(to host: CurlHost, upTo limit: Int = .max, leaving count: Int = 0) -> [Exchange] {
        guard var line = lines[host].take() else { return [] }
        line.active -= count
        var admitted: [Exchange] = []
        while line.active < limit, let next = line.takeFirst() {
            guard isRunning(next) else { continue }
            line.active += 1
            admitted.append(next)
        }
        line.clean(where: isRunning)
        lines[host] = line.active > 0 ? line : nil
        return admitted
    }

    /// Notes the end of an exchange that has not started.
    mutating func noteEnd(for host: CurlHost) {
        guard var line = lines[host].take() else { return }
        line.ended += 1
        line.clean(where: isRunning)
        lines[host] = line
    }
}
#endif
