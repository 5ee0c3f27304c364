#if os(Linux)
import DecorumCurl

/// The engine's thread: everything that touches libcurl happens here.
@safe final class CurlLoop {
    /// More handles than this are not kept for reuse.
    private static let keptHandles = 256

    private let inbox: CurlInbox
    private let settings: CurlSettings
    private var active: [Int: CurlEasy] = [:]
    private var idle: [CurlEasy] = []
    private var eventful: [CurlExchange] = []
    let sockets = CurlSockets()

    init(_ inbox: CurlInbox, _ settings: CurlSettings) {
        self.inbox = inbox
        self.settings = settings
    }

    /// Whether all requests go to a socket of the file system.
    var hasUnixSocket: Bool { settings.unixSocket != nil }

    func run() {
        unsafe decorum_curl_enter_thread("decorum.curl")
        settings.pool.apply(to: inbox)
        var commands: [CurlInbox.Command] = []
        var isRunning = true
        while isRunning {
            inbox.take(into: &commands)
            for command in commands {
                isRunning = perform(command) && isRunning
            }
            commands.removeAll(keepingCapacity: true)
            _ = unsafe decorum_curl_multi_perform(inbox.library.functions, inbox.multi)
            let isShared = active.count > 1
            completeEnded()
            // libcurl 7.88 may forget, within a turn, that one transfer has left another something to do, such as the rest
            // of a connection's bytes or its place; no socket tells of it then. A turn goes through all transfers, so there
            // is one more soon after each in which something happened.
            let isFollowed = isShared && !active.isEmpty && !eventful.isEmpty
            wakeReaders()
            if isRunning { inbox.sleep(forMilliseconds: isFollowed ? 1 : 60_000) }
        }
        // Of a closed connection, what has ended may not have been told to libcurl.
        for easy in Array(active.values) {
            remove(easy, isClean: false)
        }
        idle = []
        // libcurl closes its connections, and tells of each.
        withExtendedLifetime(sockets) { inbox.close() }
    }

    /// Returns whether to go on.
    private func perform(_ command: CurlInbox.Command) -> Bool {
        switch command {
        case .start(let exchange): start(exchange)
        case .receive(let exchange): exchange.resumeReceiving()
        case .send(let exchange): exchange.resumeSending()
        case .remove(let exchange): remove(exchange)
        case .stop: return false
        }
        return true
    }

    /// Takes note that a transfer has something for its reader, who is woken once in each turn.
    func note(_ exchange: CurlExchange) {
        eventful.append(exchange)
    }

    private func wakeReaders() {
        guard let first = eventful.first else { return }
        // The exchanges of a loop share their clock.
        let now = first.watch.clock.now
        for exchange in eventful {
            exchange.endTurn(at: now)
        }
        eventful.removeAll(keepingCapacity: true)
    }

    private func start(_ exchange: CurlExchange) {
        guard exchange.isWanted else { return }
        guard let easy = idle.popLast() ?? CurlEasy(inbox.library) else {
            exchange.abort(with: TransportError(.other, at: .connecting))
            return
        }
        settings.apply(to: easy)
        settings.applyProtocols(to: easy, isSecure: exchange.request.isSecure)
        exchange.begin(on: easy, loop: self)
        active[easy.identifier] = easy
        if easy.refusal != DECORUM_CURL_OK {
            exchange.complete(easy.refusal)
            release(easy)
        } else if unsafe decorum_curl_multi_add(inbox.library.functions, inbox.multi, easy.pointer)
            != DECORUM_CURL_MULTI_OK
        {
            exchange.abort(with: TransportError(.other, at: .connecting))
            release(easy)
        }
    }

    private func completeEnded() {
        var code: Int32 = 0
        while let pointer = unsafe decorum_curl_multi_next_ended(inbox.library.functions, inbox.multi, &code) {
            guard let easy = active[Int(bitPattern: pointer)] else { continue }
            if let exchange = easy.exchange, exchange.isRestarting {
                remove(easy, isClean: false)
                start(exchange)
                continue
            }
            easy.exchange?.complete(code)
            remove(easy, isClean: code == DECORUM_CURL_OK)
        }
    }

    private func remove(_ exchange: CurlExchange) {
        guard let easy = exchange.easy else { return }
        easy.closeConnection()
        remove(easy, isClean: false)
    }

    private func remove(_ easy: CurlEasy, isClean: Bool) {
        // libcurl 7.88 keeps what a paused stream has refused, and leaks it, unless the stream goes on before its end.
        easy.exchange?.discardHeldBytes()
        _ = unsafe decorum_curl_multi_remove(inbox.library.functions, inbox.multi, easy.pointer)
        release(easy, isReusable: isClean && easy.exchange?.marksHandle == false && idle.count < Self.keptHandles)
    }

    /// Keeps a handle for the next transfer only when its last one ended well and left nothing on it.
    ///
    /// libcurl 7.88 gives the bytes that a paused stream has refused to the next transfer on the same handle.
    private func release(_ easy: CurlEasy, isReusable: Bool = false) {
        active[easy.identifier] = nil
        let exchange = easy.exchange
        easy.reset()
        if isReusable { idle.append(easy) }
        exchange?.leave()
    }
}

@available(*, unavailable)
extension CurlLoop: Sendable {}
#endif
