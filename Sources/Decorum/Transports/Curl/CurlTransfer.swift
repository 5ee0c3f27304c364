#if os(Linux)
import DecorumCurl
import Foundation
import Synchronization

/// The side of an exchange that only the thread with the loop uses: its handle of libcurl, and what libcurl has reported.
final class CurlTransfer {
    /// The state that the transfers of a connection share.
    final class Context {
        /// The ports of a connection, which libcurl gives when it is about to send on it; its socket it does not give.
        struct Ends: Hashable {
            let local: Int32
            let remote: Int32
        }

        // Connections to different addresses may have the same ports.
        private var sockets: [Ends: Set<Int32>] = [:]
        private var ends: [Int32: Ends] = [:]
        /// The sockets on which an HTTP/1 response has arrived; over HTTP/2, a server may send at any time.
        private var answered: Set<Int32> = []
        let multi: CurlMulti
        let usesUnixSocket: Bool
        let reportsCertificates: Bool
        /// The exchanges with news for their readers, who are woken once in each turn.
        var eventful: [CurlExchange] = []
        /// The hosts that have answered with HTTP/1 alone, although HTTP/2 was offered within TLS.
        private(set) var http1Hosts: Set<CurlHost> = []
        private var http2Hosts: Set<CurlHost> = []
        /// The hosts that have answered with HTTP/2 after HTTP/1, whose waiting exchanges may start.
        var upgraded: [CurlHost] = []
        /// The transfers of which libcurl may not report that the response has ended.
        var unreported: [CurlTransfer] = []
        /// Whether the last response came so soon that another thread would have taken longer to wake up.
        var answersSoon = false

        init(_ options: CurlOptions, _ multi: CurlMulti) {
            self.multi = multi
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

        /// Adds a connection; returns false if none of the sockets belongs to it, so that it is a reused one.
        func add(_ opened: [Int32], between ends: Ends) -> Bool {
            let own = opened.filter { decorum_curl_local_port($0) == ends.local }
            for socket in own {
                sockets[ends, default: []].insert(socket)
                self.ends[socket] = ends
            }
            return !own.isEmpty
        }

        func noteAnswer(between ends: Ends) {
            answered.formUnion(sockets[ends] ?? [])
        }

        /// Whether a connection that is about to be reused has unread bytes, or has ended.
        func hasInput(between ends: Ends) -> Bool {
            sockets[ends]?.contains { answered.contains($0) && decorum_curl_has_input($0) != 0 } ?? false
        }

        /// Whether the server has ended a connection of which all bytes were read.
        func hasEnded(between ends: Ends) -> Bool {
            guard let sockets = sockets[ends], !sockets.isEmpty else { return false }
            return sockets.allSatisfy { decorum_curl_has_ended($0) != 0 }
        }

        func close(_ socket: Int32) -> Int32 {
            multi.openConnections.subtract(1, ordering: .relaxed)
            answered.remove(socket)
            if let ends = ends.removeValue(forKey: socket) {
                sockets[ends]?.remove(socket)
                if sockets[ends]?.isEmpty == true { sockets[ends] = nil }
            }
            return decorum_curl_close_socket(socket)
        }
    }

    private(set) var easy: CurlEasy?
    /// The exchange, from the start of the transfer to its end.
    private(set) var exchange: CurlExchange?
    private(set) var context: Context?
    /// Whether the next transfer on the handle could suffer from something that this one leaves there.
    private(set) var leavesTraces = false
    /// Whether the exchange starts again on a new connection, because nothing was sent on the first one.
    private(set) var isRestarting = false
    private(set) var response: CurlResponseState
    /// How often libcurl was about to send the request.
    private var attempts = 0
    private var sentBytes: Int64 = 0
    /// Whether libcurl has all of the request's content.
    private var hasSuppliedEnd = false
    /// The sockets that were opened for the exchange.
    private var opened: [Int32] = []
    /// Whether the connection that the request is sent on has served other requests.
    private(set) var isConnectionReused = false
    /// The ports of the connection that the request is sent on.
    private var ends: Context.Ends?
    /// Whether the system had no descriptor or memory for a socket.
    private var lacksSockets = false
    private var isDiscarding = false
    /// Whether the content ends with a TLS connection whose close_notify has not arrived yet.
    fileprivate var awaitsCloseNotify = false
    /// Whether the context knows that something happened in this turn.
    private var isEventful = false
    private var hasProgress = false
    let timings = RunningTimings()
    /// How long the exchange has waited before libcurl got it.
    private var waited = Duration.zero
    /// Whether libcurl lets the transfer wait for a connection, although it does not tell how long.
    var mayWaitUntold = false

    init(answersHead: Bool) {
        response = CurlResponseState(answersHead: answersHead)
    }

    /// Sets the options of the request on a handle that has the options of the connection.
    func begin(_ exchange: CurlExchange, on easy: CurlEasy, _ context: Context) {
        (self.exchange, self.easy, self.context) = (exchange, easy, context)
        let request = exchange.request
        let isBare = exchange.method == .get && exchange.uploadLength == 0 && request.target == nil && !isRestarting
        easy.set(DECORUM_CURL_OPTION_URL, request.url)
        for option in request.proxyOptions { option.apply(to: easy) }
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
        // Unretained: the loop retains the transfer and the context for as long as libcurl may call.
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe decorum_curl_set_context(easy.library.functions, easy.pointer, own)
        if !isBare || !request.proxyOptions.isEmpty { easy.isPlain = false }
        guard exchange.method != .head else { return easy.set(DECORUM_CURL_OPTION_NOBODY, 1) }
        if exchange.uploadLength != 0 { setUpload(of: easy, length: exchange.uploadLength) }
        if exchange.method != .get || exchange.uploadLength != 0 {
            easy.set(DECORUM_CURL_OPTION_CUSTOMREQUEST, request.method)
        }
    }

    /// Notes the end of the wait for a connection of the exchange's own.
    func endWait(of exchange: CurlExchange) {
        let now = exchange.watch.clock.now
        waited = exchange.state.withLock { $0.lastProgress?.duration(to: now) ?? .zero }
    }

    /// Sets the functions that libcurl calls, whose contexts each transfer sets, except the one of connections.
    static func setCallbacks(of easy: CurlEasy, _ context: Context) {
        let (functions, handle) = unsafe (easy.library.functions, easy.pointer)
        unsafe easy.set(DECORUM_CURL_OPTION_HEADERFUNCTION, Callbacks.line)
        unsafe easy.set(DECORUM_CURL_OPTION_WRITEFUNCTION, Callbacks.content)
        easy.note(unsafe decorum_curl_set_prerequest_callback(functions, handle, Callbacks.prerequest))
        easy.note(unsafe decorum_curl_set_socket_callback(functions, handle, Callbacks.socket))
        unsafe easy.set(DECORUM_CURL_OPTION_CLOSESOCKETDATA, Unmanaged.passUnretained(context).toOpaque())
        easy.note(unsafe decorum_curl_set_close_callback(functions, handle, Callbacks.close))
        easy.note(unsafe decorum_curl_set_debug_callback(functions, handle, Callbacks.debug))
    }

    private func setUpload(of easy: CurlEasy, length: Int64?) {
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        let (functions, handle) = unsafe (easy.library.functions, easy.pointer)
        easy.set(DECORUM_CURL_OPTION_UPLOAD, 1)
        easy.set(DECORUM_CURL_OPTION_INFILESIZE_LARGE, length ?? -1)
        unsafe easy.set(DECORUM_CURL_OPTION_READDATA, own)
        unsafe easy.set(DECORUM_CURL_OPTION_READFUNCTION, Callbacks.supply)
        unsafe easy.set(DECORUM_CURL_OPTION_XFERINFODATA, own)
        easy.note(unsafe decorum_curl_set_progress_callback(functions, handle, Callbacks.progress))
        easy.set(DECORUM_CURL_OPTION_NOPROGRESS, 0)
        // libcurl does not report the last chunk of a response before all of the request's content is sent.
        easy.set(DECORUM_CURL_OPTION_HTTP_TRANSFER_DECODING, 0)
        response.decodesChunks = true
        guard length == nil else { return }
        unsafe easy.set(DECORUM_CURL_OPTION_TRAILERDATA, own)
        easy.note(unsafe decorum_curl_set_trailers_callback(functions, handle, Callbacks.trailers))
        // libcurl 7.88 does not forget that it sent trailers, and writes in front of its buffer when the handle sends
        // another body in chunks.
        leavesTraces = true
    }

    /// Whether the TLS library has to be asked for close_notify, because libcurl 7.88 ignores its absence with OpenSSL.
    private var readsAlerts: Bool {
        guard let exchange else { return false }
        return exchange.request.isSecure && exchange.library.usesOpenSSL
    }

    /// Lets libcurl hand over content again, since the reader has taken all that waited, or ask for it, since there is some.
    func resume(sending isSending: Bool) {
        guard let exchange else { return }
        let now = exchange.watch.clock.now
        let (receiving, sending) = exchange.state.withLock { state in
            if isSending { state.sending = .going } else { state.receiving = .going }
            state.lastProgress = now
            return (state.receiving, state.sending)
        }
        easy?.pause(receiving: receiving != .going, sending: sending != .going)
    }

    /// Takes the bytes that libcurl keeps for a reader that has gone.
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
    @discardableResult private func finish(_ exchange: CurlExchange) -> Bool {
        timings.end(after: time(DECORUM_CURL_INFORMATION_TOTAL_TIME) ?? waited)
        return exchange.finish(.success(response.trailers))
    }

    /// Releases the handle and the exchange.
    func end() {
        (easy, exchange, context) = (nil, nil, nil)
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

    private func noteProgress() {
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
        return context.hasEnded(between: ends)
    }
}

/// The events that libcurl reports.
extension CurlTransfer {
    /// Records a new socket, or the `errno` for which the system gives none.
    fileprivate func noteSocket(_ socket: Int32, _ reason: Int32) {
        guard socket >= 0 else {
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(reason) { lacksSockets = true }
            return
        }
        opened.append(socket)
        context?.multi.openConnections.add(1, ordering: .relaxed)
        // libcurl reports the messages of TLS only on connections that were opened with this option.
        if readsAlerts { easy?.suggest(DECORUM_CURL_OPTION_VERBOSE, 1) }
    }

    /// Records an attempt to send, and allows only the first one.
    fileprivate func allowAttempt(between ends: Context.Ends) -> Bool {
        guard let exchange, let context else { return false }
        self.ends = ends
        if readsAlerts, !opened.isEmpty { easy?.suggest(DECORUM_CURL_OPTION_VERBOSE, 0) }
        if attempts == 0, !context.add(opened, between: ends), context.hasInput(between: ends) {
            // Bytes that arrived before the request would be taken for its response.
            easy?.closeConnection()
            isRestarting = true
            return false
        }
        attempts += 1
        guard attempts == 1 else {
            exchange.abort(with: errorOfSecondAttempt(at: exchange.stage))
            return false
        }
        isConnectionReused = opened.isEmpty
        exchange.state.withLock { $0.stage = .head }
        noteProgress()
        return true
    }

    /// The error of a request that libcurl is about to send again by itself.
    private func errorOfSecondAttempt(at stage: TransportError.Stage) -> TransportError {
        // libcurl drops the content and is about to send again without the request's Expect.
        guard response.status != 417 else { return TransportError(.expectationFailed, at: stage) }
        // The connection was found dead, and the server may have seen the request.
        var error = TransportError(.connectionLost, at: stage)
        error.hasLostReusedConnection = isConnectionReused && response.isEmpty
        return error
    }

    /// Takes a line of a head or of the trailers; false ends the transfer.
    fileprivate func receive(line: UnsafeRawBufferPointer) -> Bool {
        noteProgress()
        switch unsafe response.append(line) {
        case .partial: break
        case .complete(let head): receive(head)
        case .refused(let code, let detail):
            refuse(code, at: response.hasHead ? .body : .head, detail: detail)
            return false
        }
        return true
    }

    private func receive(_ head: CurlResponseHead) {
        if let exchange { context?.noteVersion(of: exchange.request.host, isHTTP1: head.isOfHTTP1) }
        if let ends, head.isOfHTTP1 { context?.noteAnswer(between: ends) }
        if response.endsWithConnection, readsAlerts {
            awaitsCloseNotify = true
            easy?.suggest(DECORUM_CURL_OPTION_VERBOSE, 1)
        }
        // Over `http`, the certificates would belong to a proxy.
        let showsCertificates = context?.reportsCertificates == true && exchange?.request.isSecure == true
        takeTimings(of: head)
        let received = CurlExchange.Head(
            final: head, informational: response.informational,
            certificates: showsCertificates ? easy?.certificates ?? [] : [])
        exchange?.state.withLock { state in
            state.head = received
            state.stage = .body
        }
        guard let exchange, isUploading(exchange.uploadLength) else { return }
        if response.isComplete {
            endBeforeUpload(of: exchange)
        } else if response.endsWithConnection || !head.isOfHTTP1 {
            context?.unreported.append(self)
        }
    }

    /// Takes content, unless much of it waits for its reader.
    fileprivate func receive(content: UnsafeRawBufferPointer) -> CurlResponseState.Content {
        guard !isDiscarding else { return .part }
        guard let exchange else { return .unwanted }
        let result = exchange.state.withLock { state -> CurlResponseState.Content in
            guard state.end == nil else { return .unwanted }
            guard !state.content.isFull else {
                state.receiving = .paused
                return .tooEarly
            }
            state.hasUnnotedProgress = true
            return unsafe response.decode(content, into: &state.content)
        }
        switch result {
        case .part: break
        case .last: endBeforeUpload(of: exchange)
        case .tooEarly: leavesTraces = true
        case .malformed: refuse(.malformedResponse, at: response.hasHead ? .body : .head)
        // The transfer ends here, before the command to remove it arrives.
        case .unwanted: easy?.closeConnection()
        }
        noteProgress()
        return result
    }

    /// Ends the exchange, whose response is complete, unless its request is too.
    ///
    /// libcurl would continue until all content is sent, but the server may never read it. The connection closes, since
    /// the server could not tell the rest of the content from another request.
    private func endBeforeUpload(of exchange: CurlExchange) {
        guard isUploading(exchange.uploadLength) else { return }
        easy?.closeConnection()
        if finish(exchange) { exchange.engine.post(.remove(exchange)) }
    }

    /// Whether a part of the request's content was not sent.
    private func isUploading(_ length: Int64?) -> Bool {
        length.map { sentBytes < $0 } ?? !hasSuppliedEnd
    }

    /// Fails the exchange, and closes its connection before another request can use it.
    private func refuse(
        _ code: TransportError.Code, at stage: TransportError.Stage, detail: String? = nil,
        underlying: (any Error)? = nil
    ) {
        easy?.closeConnection()
        var error = TransportError(code, at: stage, underlying: underlying)
        error.detail = detail
        exchange?.abort(with: error)
    }

    /// A time since the start of the exchange.
    private func time(_ information: decorum_curl_offset_information) -> Duration? {
        easy?.time(information).map { waited + $0 }
    }

    /// The wait in the pool; nil if it is not known.
    ///
    /// Of libcurl's part, at most the time until the request was sent counts: libcurl 8.23 adds up the waits of a transfer that
    /// it has looked at several times, each from the start.
    private func queued(_ easy: CurlEasy) -> Duration? {
        guard easy.library.tellsQueueTime else { return mayWaitUntold ? nil : waited }
        let told = easy.time(DECORUM_CURL_INFORMATION_QUEUE_TIME) ?? .zero
        return waited + min(told, easy.time(DECORUM_CURL_INFORMATION_PRETRANSFER_TIME) ?? told)
    }

    private func takeTimings(of head: CurlResponseHead) {
        guard let easy else { return }
        var timings = TransferTimings()
        let isReused = easy.number(DECORUM_CURL_INFORMATION_NUM_CONNECTS) == 0
        timings.queued = queued(easy)
        if !isReused {
            timings.nameLookup = time(DECORUM_CURL_INFORMATION_NAMELOOKUP_TIME)
            timings.connect = time(DECORUM_CURL_INFORMATION_CONNECT_TIME)
            timings.handshake = time(DECORUM_CURL_INFORMATION_APPCONNECT_TIME)
        }
        timings.isConnectionReused = isReused
        timings.firstByte = time(DECORUM_CURL_INFORMATION_STARTTRANSFER_TIME)
        timings.protocolVersion = head.version
        // For a Unix socket, libcurl would give its path.
        if context?.usesUnixSocket == false { timings.remoteAddress = easy.text(DECORUM_CURL_INFORMATION_PRIMARY_IP) }
        self.timings.timings = timings
        context?.answersSoon = isReused && timings.firstByte.map { $0 < .microseconds(250) } ?? false
    }

    /// Supplies content to send.
    fileprivate func supply(_ buffer: UnsafeMutableRawBufferPointer) -> CurlUpload.Supply {
        guard let exchange else { return .short }
        let (supply, producer) = exchange.state.withLock { state in
            guard state.end == nil else { return (CurlUpload.Supply.short, nil as CheckedContinuation<Bool, Never>?) }
            let result = unsafe state.upload.supply(buffer)
            if result.supply == .nothing { state.sending = .paused }
            return result
        }
        producer?.resume(returning: true)
        if supply == .end { hasSuppliedEnd = true }
        // libcurl would wait for the rest until the server gives up.
        if supply == .short { refuse(.unreadableBody, at: exchange.stage, underlying: BodyLengthError()) }
        return supply
    }

    fileprivate func noteSent(_ count: Int64) {
        guard count != sentBytes else { return }
        sentBytes = count
        noteProgress()
    }

    /// A list of the trailer fields of the request, which libcurl frees.
    fileprivate var requestTrailers: UnsafeMutableRawPointer? {
        guard let exchange, let trailers = exchange.state.withLock({ $0.upload.trailers }) else { return nil }
        let list = CurlList(exchange.library)
        var line: [UInt8] = []
        for field in trailers { list.append(field, using: &line) }
        return unsafe list.release()
    }
}

/// The functions that libcurl calls, each with a transfer as its context.
private enum Callbacks {
    static func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    }

    static let line: decorum_curl_data_callback = { bytes, size, count, context in
        guard let transfer = unsafe transfer(context) else { return 0 }
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe transfer.receive(line: line) ? line.count : 0
    }

    static let content: decorum_curl_data_callback = { bytes, size, count, context in
        guard let transfer = unsafe transfer(context) else { return 0 }
        let content = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        switch unsafe transfer.receive(content: content) {
        case .part, .last: return content.count
        case .tooEarly: return Int(DECORUM_CURL_WRITE_PAUSE)
        // Any number except the count of the bytes ends the transfer. For 0 bytes, 0 is success, so return 1.
        case .malformed, .unwanted: return unsafe content.isEmpty ? 1 : 0
        }
    }

    static let supply: decorum_curl_data_callback = { bytes, size, count, context in
        guard let transfer = unsafe transfer(context) else { return Int(DECORUM_CURL_READ_ABORT) }
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        switch unsafe transfer.supply(buffer) {
        case .bytes(let count): return count
        case .nothing: return Int(DECORUM_CURL_READ_PAUSE)
        case .end: return 0
        case .short: return Int(DECORUM_CURL_READ_ABORT)
        }
    }

    static let progress: decorum_curl_progress_callback = { context, _, _, _, sent in
        unsafe transfer(context)?.noteSent(sent)
        return 0
    }

    static let trailers: decorum_curl_trailers_callback = { list, context in
        guard let list = unsafe list, let transfer = unsafe transfer(context) else {
            return Int32(DECORUM_CURL_TRAILERS_ABORT)
        }
        unsafe list.pointee = transfer.requestTrailers
        return Int32(DECORUM_CURL_TRAILERS_OK)
    }

    static let debug: decorum_curl_debug_callback = { _, type, text, count, context in
        guard unsafe decorum_curl_reports_close_notify(type, text, count) != 0 else { return 0 }
        unsafe transfer(context)?.awaitsCloseNotify = false
        return 0
    }

    static let socket: decorum_curl_socket_callback = { context, _, address in
        let descriptor = unsafe decorum_curl_open_socket(address)
        let reason = errno
        unsafe transfer(context)?.noteSocket(descriptor, reason)
        return descriptor
    }

    /// The one function whose context is not a transfer, since a connection outlives the transfer that opened it.
    static let close: decorum_curl_close_callback = { context, descriptor in
        guard let context = unsafe context else { return decorum_curl_close_socket(descriptor) }
        return unsafe Unmanaged<CurlTransfer.Context>.fromOpaque(context).takeUnretainedValue().close(descriptor)
    }

    static let prerequest: decorum_curl_prerequest_callback = { context, _, _, remote, local in
        let ends = CurlTransfer.Context.Ends(local: local, remote: remote)
        guard let transfer = unsafe transfer(context), transfer.allowAttempt(between: ends) else {
            return Int32(DECORUM_CURL_PREREQUEST_ABORT)
        }
        return Int32(DECORUM_CURL_PREREQUEST_OK)
    }
}

extension TaskPriority {
    /// The weight of a stream over HTTP/2, from 1 to 256, where a stream without a priority has 16 (RFC 7540, section 5.3).
    fileprivate var streamWeight: Int {
        switch self {
        case .high...: 256
        case .medium...: 16
        case .low...: 4
        default: 1
        }
    }
}
#endif
