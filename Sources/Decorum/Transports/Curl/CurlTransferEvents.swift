#if os(Linux)
import DecorumCurl
import Foundation

/// The events that libcurl reports.
extension CurlTransfer {
    /// Records a new socket, or the `errno` for which the system gives none.
    func noteSocket(_ socket: Int32, _ reason: Int32) {
        if socket >= 0 {
            opened.append(socket)
            // libcurl reports the messages of TLS only on connections that were opened with this option.
            if readsAlerts { easy?.suggest(DECORUM_CURL_OPTION_VERBOSE, 1) }
        }
        if socket < 0, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(reason) { lacksSockets = true }
    }

    /// Records an attempt to send, and allows only the first one.
    func allowAttempt(between ends: CurlSockets.Ends) -> Bool {
        guard let exchange, let context else { return false }
        self.ends = ends
        if readsAlerts, !opened.isEmpty { easy?.suggest(DECORUM_CURL_OPTION_VERBOSE, 0) }
        if attempts == 0, !context.sockets.add(opened, between: ends), context.sockets.hasInput(between: ends) {
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
    func receive(line: UnsafeRawBufferPointer) -> Bool {
        noteProgress()
        switch unsafe response.append(line) {
        case .partial: return true
        case .complete(let head):
            receive(head)
            return true
        case .refused(let code, let detail):
            refuse(code, at: response.hasHead ? .body : .head, detail: detail)
            return false
        }
    }

    private func receive(_ head: CurlResponseHead) {
        if let exchange { context?.noteVersion(of: exchange.request.host, isHTTP1: head.isOfHTTP1) }
        if let ends, head.isOfHTTP1 { context?.sockets.noteAnswer(between: ends) }
        if response.endsWithConnection, readsAlerts {
            awaitsCloseNotify = true
            easy?.suggest(DECORUM_CURL_OPTION_VERBOSE, 1)
        }
        let received = CurlExchange.Head(
            final: head, informational: response.informational, timings: timings(of: head),
            certificates: certificates)
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
    func receive(content: UnsafeRawBufferPointer) -> Acceptance {
        guard !isDiscarding else { return .taken }
        guard let exchange else { return .never }
        let acceptance = exchange.state.withLock { state -> Acceptance in
            guard state.end == nil else { return .never }
            guard !state.content.isFull else {
                state.receiving = .paused
                return .later
            }
            state.hasUnnotedProgress = true
            return switch unsafe response.decode(content, into: &state.content) {
            case .part: .taken
            case .last: .complete
            case .malformed: .malformed
            }
        }
        switch acceptance {
        case .taken: break
        case .later: leavesTraces = true
        case .complete: endBeforeUpload(of: exchange)
        case .malformed: refuse(.malformedResponse, at: response.hasHead ? .body : .head)
        // The transfer ends here, before the command to remove it arrives.
        case .never: easy?.closeConnection()
        }
        noteProgress()
        return acceptance
    }

    enum Acceptance {
        case taken
        /// As taken; it was the last of the content.
        case complete
        case later
        case malformed
        case never
    }

    /// Ends the exchange, whose response is complete, where its request is not.
    ///
    /// libcurl would continue until all content is sent, but the server may never read it. The connection closes, since
    /// the server could not tell the rest of the content from another request.
    private func endBeforeUpload(of exchange: CurlExchange) {
        guard isUploading(exchange.uploadLength) else { return }
        easy?.closeConnection()
        if finish(exchange) { exchange.engine.post(.remove(exchange)) }
    }

    /// Whether a part of the request's content was not sent.
    func isUploading(_ length: Int64?) -> Bool {
        guard let length else { return !hasSuppliedEnd }
        return sentBytes < length
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

    /// The certificates of the server, where they are asked for; over `http`, they would be those of a proxy.
    private var certificates: [Data] {
        guard context?.reportsCertificates == true, exchange?.request.isSecure == true else { return [] }
        return easy?.certificates ?? []
    }

    private func timings(of head: CurlResponseHead) -> TransferTimings {
        var timings = TransferTimings(end: finished)
        guard let easy else { return timings }
        let isReused = easy.number(DECORUM_CURL_INFORMATION_NUM_CONNECTS) == 0
        if !isReused {
            timings.nameLookup = easy.time(DECORUM_CURL_INFORMATION_NAMELOOKUP_TIME)
            timings.connect = easy.time(DECORUM_CURL_INFORMATION_CONNECT_TIME)
            timings.handshake = easy.time(DECORUM_CURL_INFORMATION_APPCONNECT_TIME)
        }
        timings.isConnectionReused = isReused
        timings.firstByte = easy.time(DECORUM_CURL_INFORMATION_STARTTRANSFER_TIME)
        timings.protocolVersion = head.version
        // For a Unix socket, libcurl would give its path.
        if context?.usesUnixSocket == false { timings.remoteAddress = easy.text(DECORUM_CURL_INFORMATION_PRIMARY_IP) }
        return timings
    }

    /// Supplies content to send.
    func supply(_ buffer: UnsafeMutableRawBufferPointer) -> CurlUpload.Supply {
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

    func noteSent(_ count: Int64) {
        guard count != sentBytes else { return }
        sentBytes = count
        noteProgress()
    }

    /// Records that the server has ended the TLS connection properly.
    func noteCloseNotify() {
        awaitsCloseNotify = false
    }

    /// A list of the trailer fields of the request, which libcurl frees; nil for none.
    var requestTrailers: UnsafeMutableRawPointer? {
        guard let exchange, let trailers = exchange.state.withLock({ $0.upload.trailers }) else { return nil }
        let list = CurlList(exchange.library)
        for field in trailers {
            list.append(field)
        }
        return unsafe list.release()
    }
}

/// The functions that libcurl calls, each with a transfer as its context.
extension CurlTransfer {
    /// Sets the functions of every transfer.
    func setCallbacks(of easy: CurlEasy, _ sockets: CurlSockets) {
        // Unretained: the loop retains the transfer for as long as libcurl may call.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe easy.set(DECORUM_CURL_OPTION_HEADERDATA, context)
        unsafe easy.set(DECORUM_CURL_OPTION_HEADERFUNCTION, Callbacks.line)
        unsafe easy.set(DECORUM_CURL_OPTION_WRITEDATA, context)
        unsafe easy.set(DECORUM_CURL_OPTION_WRITEFUNCTION, Callbacks.content)
        unsafe easy.set(DECORUM_CURL_OPTION_PREREQDATA, context)
        unsafe easy.setPrerequestCallback(Callbacks.prerequest)
        unsafe easy.set(DECORUM_CURL_OPTION_OPENSOCKETDATA, context)
        unsafe easy.setSocketCallback(Callbacks.socket)
        unsafe easy.set(DECORUM_CURL_OPTION_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
        unsafe easy.setCloseCallback(Callbacks.close)
    }

    /// Sets the functions of a transfer that has content to send.
    func setUploadCallbacks(of easy: CurlEasy, hasTrailers: Bool) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe easy.set(DECORUM_CURL_OPTION_READDATA, context)
        unsafe easy.set(DECORUM_CURL_OPTION_READFUNCTION, Callbacks.supply)
        unsafe easy.set(DECORUM_CURL_OPTION_XFERINFODATA, context)
        unsafe easy.setProgressCallback(Callbacks.progress)
        easy.set(DECORUM_CURL_OPTION_NOPROGRESS, 0)
        guard hasTrailers else { return }
        unsafe easy.set(DECORUM_CURL_OPTION_TRAILERDATA, context)
        unsafe easy.setTrailersCallback(Callbacks.trailers)
    }

    /// Sets the function that libcurl calls for messages of TLS, while it is verbose.
    func setTraceCallback(of easy: CurlEasy) {
        unsafe easy.set(DECORUM_CURL_OPTION_DEBUGDATA, Unmanaged.passUnretained(self).toOpaque())
        unsafe easy.setDebugCallback(Callbacks.debug)
    }
}

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
        case .taken, .complete: return content.count
        case .later: return Int(DECORUM_CURL_WRITE_PAUSE)
        // Any number except the count of the bytes ends the transfer. For 0 bytes, 0 is success, so return 1.
        case .malformed, .never: return unsafe content.isEmpty ? 1 : 0
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
        unsafe transfer(context)?.noteCloseNotify()
        return 0
    }

    static let socket: decorum_curl_socket_callback = { context, _, address in
        let descriptor = unsafe decorum_curl_open_socket(address)
        let reason = errno
        unsafe transfer(context)?.noteSocket(descriptor, reason)
        return descriptor
    }

    /// The one function whose context is ``CurlSockets``, since a connection outlives the transfer that opened it.
    static let close: decorum_curl_close_callback = { context, descriptor in
        guard let context = unsafe context else { return decorum_curl_close_socket(descriptor) }
        return unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().close(descriptor)
    }

    static let prerequest: decorum_curl_prerequest_callback = { context, _, _, remote, local in
        let ends = CurlSockets.Ends(local: local, remote: remote)
        guard let transfer = unsafe transfer(context), transfer.allowAttempt(between: ends) else {
            return Int32(DECORUM_CURL_PREREQUEST_ABORT)
        }
        return Int32(DECORUM_CURL_PREREQUEST_OK)
    }
}
#endif
