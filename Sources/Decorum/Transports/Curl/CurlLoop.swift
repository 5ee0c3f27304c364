#if os(Linux)
import DecorumCurl

/// Runs the transfers of a connection on one thread, the only one that uses libcurl's handles.
@safe final class CurlLoop {
    /// No more handles than this are kept for reuse.
    private static let keptHandles = 256

    private let queue: CurlCommandQueue
    private let multi: CurlMulti
    private let options: CurlOptions
    private let context: CurlTransfer.Context
    private var active: [Int: CurlTransfer] = [:]
    private var idle: [CurlEasy] = []
    private var admission: CurlAdmission<CurlExchange>
    /// The exchanges that have waited and may start.
    private var admitted: [CurlExchange] = []

    init(_ queue: CurlCommandQueue, _ options: CurlOptions) {
        self.queue = queue
        self.options = options
        multi = queue.multi
        context = CurlTransfer.Context(options)
        admission = CurlAdmission(limit: options.connectionsPerHost) { $0.isRunning }
    }

    func run() {
        unsafe decorum_curl_enter_thread("decorum.curl")
        options.apply(to: multi)
        var commands: [CurlCommandQueue.Command] = []
        var isRunning = true
        var isFollowing = false
        while isRunning {
            queue.take(into: &commands)
            let hasCommands = !commands.isEmpty
            for command in commands {
                isRunning = perform(command) && isRunning
            }
            commands.removeAll(keepingCapacity: true)
            lookForEnds()
            multi.perform()
            completeEnded()
            // libcurl may just have read the end of a connection. It does not report this, and the socket does not wake
            // the thread again. The ends of streams are left to the next turn, since libcurl has to look for them.
            lookForEnds { $0.response.endsWithConnection }
            startAdmitted()
            // libcurl 7.88 may forget that a transfer can go on, such as with bytes that its connection has read already,
            // and no socket wakes the thread then. A turn handles all transfers, so a turn in which something happened
            // is followed by another one soon. Where nothing happens, the thread sleeps. The end of an unreported
            // stream is no event, and shows in the next turn.
            let isAwake = hasCommands || !context.eventful.isEmpty || (!isFollowing && !context.unreported.isEmpty)
            let isFollowed = !active.isEmpty && isAwake
            isFollowing = isFollowed
            wakeReaders()
            if isRunning { queue.sleep(forMilliseconds: isFollowed ? 1 : 60_000) }
        }
        // Transfers of a closed connection may have ended without a command to remove them.
        for transfer in Array(active.values) {
            remove(transfer, isClean: false)
        }
        admitted = []
        idle = []
        // libcurl closes its connections here, and calls back for each.
        withExtendedLifetime(context) { queue.close() }
    }

    /// Returns whether to go on.
    private func perform(_ command: CurlCommandQueue.Command) -> Bool {
        switch command {
        case .start(let exchange): start(exchange)
        case .receive(let exchange): exchange.transfer.resumeReceiving()
        case .send(let exchange): exchange.transfer.resumeSending()
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
        guard exchange.isRunning else { return }
        let host = exchange.request.host
        if admission.admits(exchange, to: host, isSharing: allowsSharing(with: host)) { begin(exchange) }
    }

    private func startAdmitted() {
        for host in context.upgraded { admitted += admission.admitAll(to: host) }
        context.upgraded = []
        while !admitted.isEmpty {
            let exchanges = admitted
            admitted = []
            for exchange in exchanges { begin(exchange) }
        }
    }

    private func allowsSharing(with host: CurlHost) -> Bool {
        options.allowsSharing(with: host, not: context.http1Hosts)
    }

    /// Lets the next exchange have the place of one that has ended.
    private func leave(_ host: CurlHost) {
        admitted += admission.leave(host, isSharing: allowsSharing(with: host))
    }

    private func begin(_ exchange: CurlExchange) {
        guard exchange.isRunning else { return leave(exchange.request.host) }
        guard let easy = idle.popLast() ?? CurlEasy(multi.library) else {
            exchange.abort(with: TransportError(.other, at: .connecting))
            leave(exchange.request.host)
            return
        }
        options.apply(to: easy)
        options.applyVersion(to: easy, isSecure: exchange.request.isSecure)
        let transfer = exchange.transfer
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
        if !keepsPlace, let exchange = transfer.exchange { leave(exchange.request.host) }
        easy.reset()
        if isReusable { idle.append(easy) }
        transfer.end()
    }
}

@available(*, unavailable)
extension CurlLoop: Sendable {}
#endif
