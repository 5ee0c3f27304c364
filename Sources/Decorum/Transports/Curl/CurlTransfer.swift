#if os(Linux)
import DecorumCurl
import Foundation

/// The side of an exchange that only the engine's thread uses: its handle of libcurl, and what libcurl has reported.
final class CurlTransfer {
    /// The state that the transfers of a connection share on the engine's thread.
    final class Context {
        let sockets = CurlSockets()
        let usesUnixSocket: Bool
        let reportsCertificates: Bool
        /// The exchanges with news for their readers, who are woken once in each turn.
        var eventful: [CurlExchange] = []
        /// The hosts that have answered with HTTP/1 alone where HTTP/2 was offered within TLS.
        private(set) var http1Hosts: Set<CurlHost> = []
        private var http2Hosts: Set<CurlHost> = []
        /// The hosts that have answered with HTTP/2 after HTTP/1, whose waiting exchanges may start.
        var upgraded: [CurlHost] = []
        /// The transfers of which libcurl may not report that the response has ended.
        var unreported: [CurlTransfer] = []

        init(_ options: CurlOptions) {
            usesUnixSocket = options.unixSocket != nil
            reportsCertificates = options.reportsCertificates
        }

        func noteVersion(of host: CurlHost, isHTTP1: Bool) {
            guard host.isSecure, !http2Hosts.contains(host) else { return }
            // Above the limit, a host is not remembered, and libcurl itself makes its exchanges wait.
            if isHTTP1 {
                if http1Hosts.count < 1000 { http1Hosts.insert(host) }
            } else {
                if http2Hosts.count < 1000 { http2Hosts.insert(host) }
                if http1Hosts.remove(host) != nil { upgraded.append(host) }
            }
        }
    }

    private(set) var easy: CurlEasy?
    /// The exchange, from the start of the transfer to its end.
    private(set) var exchange: CurlExchange?
    private(set) var context: Context?
    /// Whether the next transfer on the handle could suffer from something that this one leaves there.
    var leavesTraces = false
    /// Whether the exchange starts again on a new connection, because nothing was sent on the first one.
    var isRestarting = false
    var response: CurlResponseState
    /// How often libcurl was about to send the request.
    var attempts = 0
    var sentBytes: Int64 = 0
    /// Whether libcurl has all of the request's content.
    var hasSuppliedEnd = false
    /// The sockets that were opened for the exchange.
    var opened: [Int32] = []
    /// Whether the connection that the request is sent on has served other requests.
    var isConnectionReused = false
    /// The ports of the connection that the request is sent on.
    var ends: CurlSockets.Ends?
    /// Whether the system had no descriptor or memory for a socket.
    var lacksSockets = false
    var isDiscarding = false
    /// Whether the content ends with a TLS connection whose close_notify has not arrived yet.
    var awaitsCloseNotify = false
    /// Whether the context knows that something happened in this turn.
    private var isEventful = false
    private var hasProgress = false
    let finished = TransferEnd()

    init(answersHead: Bool) {
        response = CurlResponseState(answersHead: answersHead)
    }

    /// Sets the options of the request on a handle that has those of the connection.
    func begin(_ exchange: CurlExchange, on easy: CurlEasy, _ context: Context) {
        self.exchange = exchange
        self.easy = easy
        self.context = context
        let request = exchange.request
        easy.set(DECORUM_CURL_OPTION_URL, request.url)
        for option in request.proxy { option.apply(to: easy) }
        if let target = request.target { easy.set(DECORUM_CURL_OPTION_REQUEST_TARGET, target) }
        unsafe easy.set(DECORUM_CURL_OPTION_HTTPHEADER, request.fields.pointer)
        easy.set(
            DECORUM_CURL_OPTION_CONNECTTIMEOUT_MS, Int(min(exchange.connectTimeout / .milliseconds(1), 0x7FFF_FFFF)))
        if isRestarting { easy.set(DECORUM_CURL_OPTION_FRESH_CONNECT, 1) }
        isRestarting = false
        if let priority = exchange.priority {
            // A library without HTTP/2, or without its priorities, sends the request nevertheless.
            easy.suggest(DECORUM_CURL_OPTION_STREAM_WEIGHT, priority.streamWeight)
        }
        setCallbacks(of: easy, context.sockets)
        if readsAlerts { setTraceCallback(of: easy) }
        if exchange.method == .head {
            easy.set(DECORUM_CURL_OPTION_NOBODY, 1)
            return
        }
        if exchange.uploadLength != 0 { setUpload(of: easy, length: exchange.uploadLength) }
        if exchange.method != .get || exchange.uploadLength != 0 {
            easy.set(DECORUM_CURL_OPTION_CUSTOMREQUEST, request.method)
        }
    }

    private func setUpload(of easy: CurlEasy, length: Int64?) {
        easy.set(DECORUM_CURL_OPTION_UPLOAD, 1)
        easy.set(DECORUM_CURL_OPTION_INFILESIZE_LARGE, length ?? -1)
        setUploadCallbacks(of: easy, hasTrailers: length == nil)
        // libcurl does not report the last chunk of a response before all of the request's content is sent.
        easy.set(DECORUM_CURL_OPTION_HTTP_TRANSFER_DECODING, 0)
        response.decodesChunks = true
        // libcurl 7.88 does not forget that it sent trailers, and writes in front of its buffer when the handle sends
        // another body in chunks.
        if length == nil { leavesTraces = true }
    }

    /// Whether the TLS library has to be asked for close_notify, because libcurl 7.88 ignores its absence with OpenSSL.
    var readsAlerts: Bool {
        guard let exchange else { return false }
        return exchange.request.isSecure && exchange.library.usesOpenSSL
    }

    /// Lets libcurl hand over content again, because the reader has taken all that waited.
    func resumeReceiving() {
        guard let exchange else { return }
        let now = exchange.watch.clock.now
        let sending = exchange.state.withLock { state in
            state.receiving = .going
            state.lastProgress = now
            return state.sending
        }
        easy?.pause(receiving: false, sending: sending != .going)
    }

    /// Lets libcurl ask for content again, because there is some.
    func resumeSending() {
        guard let exchange else { return }
        let now = exchange.watch.clock.now
        let receiving = exchange.state.withLock { state in
            state.sending = .going
            state.lastProgress = now
            return state.receiving
        }
        easy?.pause(receiving: receiving != .going, sending: false)
    }

    /// Takes the bytes that libcurl keeps for a reader that does not exist any more.
    func discardHeldBytes() {
        guard let exchange, exchange.state.withLock({ $0.receiving != .going }) else { return }
        isDiscarding = true
        easy?.pause(receiving: false, sending: false)
    }

    /// Ends the exchange with the result of libcurl.
    func complete(_ code: Int32) {
        defer { noteEvent() }
        guard let exchange else { return }
        guard code == DECORUM_CURL_OK else {
            exchange.finish(.failure(failure(code, of: exchange)))
            return
        }
        // A connection that ends within the head counts as a success for libcurl.
        guard response.hasHead else {
            exchange.finish(.failure(TransportError(.connectionLost, at: .head)))
            return
        }
        // RFC 9112, section 9.8: without close_notify, an attacker may have ended the connection. libcurl detects a missing
        // chunk by itself, in the versions that were tried.
        guard !awaitsCloseNotify, !response.awaitsLastChunk else {
            exchange.finish(.failure(TransportError(.truncated, at: .body)))
            return
        }
        finish(exchange)
    }

    private func failure(_ code: Int32, of exchange: CurlExchange) -> any Error {
        let failure = CurlFailure(
            code: code, stage: exchange.stage,
            systemError: Int32(truncatingIfNeeded: easy?.number(DECORUM_CURL_INFORMATION_OS_ERRNO) ?? 0),
            proxyStatus: easy?.number(DECORUM_CURL_INFORMATION_HTTP_CONNECTCODE) ?? 0,
            lacksSockets: lacksSockets, isConnectionReused: isConnectionReused, hasResponse: !response.isEmpty,
            proxy: exchange.request.proxyAddress, detail: easy?.detail ?? "")
        return failure.error(underlying: exchange.library.error(code))
    }

    /// Ends the exchange with a complete response; returns whether it was running.
    @discardableResult func finish(_ exchange: CurlExchange) -> Bool {
        finished.end(after: easy?.time(DECORUM_CURL_INFORMATION_TOTAL_TIME) ?? .zero)
        return exchange.finish(.success(response.trailers))
    }

    /// Releases the handle and the exchange.
    func end() {
        easy = nil
        exchange = nil
        context = nil
    }

    /// Ends a turn of the loop in which something happened; returns whether bytes were sent or received.
    func endTurn() -> Bool {
        defer { (isEventful, hasProgress) = (false, false) }
        return hasProgress
    }

    /// Records that something happened, so that the reader is woken at the end of the turn.
    private func noteEvent() {
        guard !isEventful, let exchange, let context else { return }
        isEventful = true
        context.eventful.append(exchange)
    }

    func noteProgress() {
        hasProgress = true
        noteEvent()
    }
}

@available(*, unavailable)
extension CurlTransfer: Sendable {}

/// The end of a response before the end of its request, where libcurl 7.88 does not report it.
extension CurlTransfer {
    /// Ends the exchange if its response has ended, or makes libcurl look whether it has.
    func lookForEnd() {
        guard let exchange, let easy else { return }
        let (receiving, sending) = exchange.state.withLock { ($0.receiving, $0.sending) }
        // Otherwise libcurl has content that its reader has not taken.
        guard receiving == .going else { return }
        if response.endsWithConnection {
            guard hasConnectionEnded, isUploading(exchange.uploadLength) else { return }
            easy.closeConnection()
            complete(Int32(DECORUM_CURL_OK))
            exchange.engine.post(.remove(exchange))
        } else if sending == .going {
            // When the last of the content has closed an HTTP/2 stream, libcurl waits for a further frame of it, but none
            // comes. It looks at the stream again only where a pause ends.
            easy.pause(receiving: false, sending: true)
            easy.pause(receiving: false, sending: false)
        }
    }

    private var hasConnectionEnded: Bool {
        // A server may wait for the client's close_notify before it ends the connection below TLS.
        if readsAlerts, !awaitsCloseNotify { return true }
        guard let ends, let context else { return false }
        // All connections of a Unix socket have the same ports, so a reused one cannot be found.
        if context.usesUnixSocket { return opened.last.map { decorum_curl_has_ended($0) != 0 } ?? false }
        return context.sockets.hasEnded(between: ends)
    }
}
#endif
