#if os(Linux)
import DecorumCurl
import Foundation

/// What the engine's loop does with an exchange, on its thread.
extension CurlExchange {
    var easy: CurlEasy? { wire.easy }

    /// Whether the handle may keep something of the exchange that its next one would suffer from.
    var marksHandle: Bool { wire.marksHandle }

    var isWanted: Bool { state.withLock { $0.end == nil } }

    /// Sets the options of the request on a handle that has those of the connection.
    func begin(on easy: CurlEasy, loop: CurlLoop) {
        wire.easy = easy
        wire.loop = loop
        easy.exchange = self
        easy.set(DECORUM_CURL_OPTION_URL, request.url)
        if let target = request.target { easy.set(DECORUM_CURL_OPTION_REQUEST_TARGET, target) }
        unsafe easy.set(DECORUM_CURL_OPTION_HTTPHEADER, request.fields.pointer)
        easy.set(DECORUM_CURL_OPTION_CONNECTTIMEOUT_MS, Int(min(connectTimeout / .milliseconds(1), 0x7FFF_FFFF)))
        if wire.isRestarting { easy.set(DECORUM_CURL_OPTION_FRESH_CONNECT, 1) }
        wire.isRestarting = false
        setCallbacks(of: easy)
        if method == .head {
            easy.set(DECORUM_CURL_OPTION_NOBODY, 1)
            return
        }
        if uploadLength != 0 { setUpload(of: easy) }
        if method != .get || uploadLength != 0 { easy.set(DECORUM_CURL_OPTION_CUSTOMREQUEST, request.method) }
    }

    private func setCallbacks(of easy: CurlEasy) {
        // Unretained: the loop's handle holds the exchange for as long as libcurl may call.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe easy.set(DECORUM_CURL_OPTION_HEADERDATA, context)
        unsafe easy.set(DECORUM_CURL_OPTION_WRITEDATA, context)
        unsafe easy.set(DECORUM_CURL_OPTION_PREREQDATA, context)
        unsafe easy.set(DECORUM_CURL_OPTION_HEADERFUNCTION, CurlCallbacks.line)
        unsafe easy.set(DECORUM_CURL_OPTION_WRITEFUNCTION, CurlCallbacks.content)
        unsafe easy.setPrerequestCallback(CurlCallbacks.prerequest)
        unsafe easy.set(DECORUM_CURL_OPTION_OPENSOCKETDATA, context)
        unsafe easy.setSocketCallback(CurlCallbacks.socket)
        guard let sockets = wire.loop?.sockets else { return }
        unsafe easy.set(DECORUM_CURL_OPTION_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
        unsafe easy.setCloseCallback(CurlCallbacks.close)
    }

    private func setUpload(of easy: CurlEasy) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        easy.set(DECORUM_CURL_OPTION_UPLOAD, 1)
        easy.set(DECORUM_CURL_OPTION_INFILESIZE_LARGE, uploadLength ?? -1)
        unsafe easy.set(DECORUM_CURL_OPTION_READDATA, context)
        unsafe easy.set(DECORUM_CURL_OPTION_READFUNCTION, CurlCallbacks.supply)
        unsafe easy.set(DECORUM_CURL_OPTION_XFERINFODATA, context)
        unsafe easy.setProgressCallback(CurlCallbacks.progress)
        easy.set(DECORUM_CURL_OPTION_NOPROGRESS, 0)
        guard uploadLength == nil else { return }
        unsafe easy.set(DECORUM_CURL_OPTION_TRAILERDATA, context)
        unsafe easy.setTrailersCallback(CurlCallbacks.trailers)
        // libcurl 7.88 does not forget that it sent trailers, and writes in front of its buffer when the handle sends
        // another body in chunks.
        wire.marksHandle = true
    }

    /// Lets libcurl hand over content again, now that the reader has taken what waited.
    func resumeReceiving() {
        let now = watch.clock.now
        let flow = state.withLock { state in
            state.receiving = .going
            state.lastProgress = now
            return state.sending
        }
        easy?.pause(receiving: false, sending: flow != .going)
    }

    /// Lets libcurl ask for content again, now that there is some.
    func resumeSending() {
        let now = watch.clock.now
        let flow = state.withLock { state in
            state.sending = .going
            state.lastProgress = now
            return state.receiving
        }
        easy?.pause(receiving: flow != .going, sending: false)
    }

    /// Takes what libcurl holds for a reader that is gone.
    func discardHeldBytes() {
        guard state.withLock({ $0.receiving != .going }) else { return }
        wire.isDiscarding = true
        easy?.pause(receiving: false, sending: false)
    }

    /// Takes the end of the transfer.
    func complete(_ code: Int32) {
        defer { note() }
        guard code != DECORUM_CURL_OK else {
            wire.end.end(after: easy?.time(DECORUM_CURL_INFORMATION_TOTAL_TIME) ?? .zero)
            // A connection that ends within the head counts as a success for libcurl.
            finish(wire.hasHead ? .success(wire.trailers) : .failure(TransportError(.connectionLost, at: .head)))
            return
        }
        let failure = CurlFailure(
            code: code, stage: state.withLock { $0.stage },
            systemError: Int32(truncatingIfNeeded: easy?.number(DECORUM_CURL_INFORMATION_OS_ERRNO) ?? 0),
            proxyStatus: easy?.number(DECORUM_CURL_INFORMATION_HTTP_CONNECTCODE) ?? 0,
            lacksSockets: wire.lacksSockets, detail: easy?.detail ?? "")
        finish(.failure(failure.error(underlying: library.error(code))))
    }

    /// Lets go of the handle and the loop.
    func leave() {
        wire.easy = nil
        wire.loop = nil
    }

    /// Takes note that something happened, and that the reader may have to be woken at the end of the turn.
    private func note() {
        guard !wire.isEventful else { return }
        wire.isEventful = true
        wire.loop?.note(self)
    }

    /// Ends a turn of the loop in which something happened.
    func endTurn(at instant: ContinuousClock.Instant) {
        wire.isEventful = false
        wakeReader(notingProgressAt: wire.hasProgress ? instant : nil)
        wire.hasProgress = false
    }

    private func noteProgress() {
        wire.hasProgress = true
        note()
    }
}

/// What libcurl tells and asks, on the engine's thread.
extension CurlExchange {
    /// The longest head, with the informational ones before it and the trailers behind it.
    private static let lineLimit = 256 << 10

    /// Whether the exchange ended before anything was sent, to start again on another connection.
    var isRestarting: Bool { wire.isRestarting }

    /// Takes note of a socket, or of the reason of `errno` for which the system gives none.
    func noteSocket(_ socket: Int32, _ reason: Int32) {
        if socket >= 0 { wire.opened.append(socket) }
        if socket < 0, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(reason) { wire.lacksSockets = true }
    }

    /// Takes note of an attempt to send; only the first one is let.
    func allowAttempt(between ends: CurlSockets.Ends) -> Bool {
        wire.ends = ends
        if wire.attempts == 0, let sockets = wire.loop?.sockets, !sockets.add(wire.opened, between: ends),
            sockets.hasInput(between: ends)
        {
            // Bytes that came without being asked for would be taken for the answer to this request.
            easy?.closeConnection()
            wire.isRestarting = true
            return false
        }
        wire.attempts += 1
        guard wire.attempts == 1 else {
            // The connection was found dead, and the server may have seen the request. After a 417, libcurl drops the
            // content and is about to send again without the request's Expect.
            let code: TransportError.Code = wire.status == 417 ? .expectationFailed : .connectionLost
            abort(with: TransportError(code, at: state.withLock { $0.stage }))
            return false
        }
        state.withLock { $0.stage = .head }
        noteProgress()
        return true
    }

    /// Takes a line of a head or of the trailers; false ends the transfer.
    func receive(line: UnsafeRawBufferPointer) -> Bool {
        noteProgress()
        wire.lineBytes += line.count
        guard wire.lineBytes <= Self.lineLimit else {
            easy?.closeConnection()
            abort(with: TransportError(.limitExceeded, at: state.withLock { $0.stage }))
            return false
        }
        let isBlank = unsafe line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        if wire.hasHead {
            if !isBlank { unsafe wire.trailers.append(line) }
            return true
        }
        guard isBlank else {
            // libcurl takes each line that starts so for the end of the head, whatever stands behind.
            guard let first = unsafe line.first, first != UInt8(ascii: "\r") else { return refuseHead() }
            unsafe wire.head.append(line)
            return true
        }
        return receiveHead()
    }

    /// Fails the exchange before libcurl can use its connection for another one.
    private func refuseHead() -> Bool {
        easy?.closeConnection()
        abort(with: TransportError(.malformedResponse, at: .head))
        return false
    }

    private func receiveHead() -> Bool {
        guard let status = wire.head.status, wire.head.hasClearFraming else { return refuseHead() }
        // After a 101 the connection speaks another protocol: the response is final.
        guard status >= 200 || status == 101 else {
            wire.informational.append(wire.head)
            wire.head = RawHead()
            return true
        }
        wire.status = status
        if let ends = wire.ends, wire.head.isOfHTTP1 { wire.loop?.sockets.noteAnswer(between: ends) }
        wire.missingBytes = method == .head || [204, 304].contains(status) ? 0 : wire.head.contentLength
        let head = Head(final: wire.head, informational: wire.informational, timings: timings)
        state.withLock { state in
            state.head = head
            state.stage = .body
        }
        wire.head = RawHead()
        endBeforeUpload()
        return true
    }

    /// Ends the exchange where its response is complete, though its request is not.
    ///
    /// libcurl would go on until all is sent, for which the server may never wait. The connection closes, since the server
    /// could not tell the rest of the content from another request.
    private func endBeforeUpload() {
        guard wire.missingBytes == 0, isUploading else { return }
        easy?.closeConnection()
        wire.end.end(after: easy?.time(DECORUM_CURL_INFORMATION_TOTAL_TIME) ?? .zero)
        if finish(.success(wire.trailers)) { engine.post(.remove(self)) }
    }

    /// Whether some of the request's content was not sent.
    private var isUploading: Bool {
        guard let uploadLength else { return !wire.hasSuppliedEnd }
        return wire.sentBytes < uploadLength
    }

    private var timings: TransferTimings {
        var timings = TransferTimings(end: wire.end)
        guard let easy else { return timings }
        let isReused = easy.number(DECORUM_CURL_INFORMATION_NUM_CONNECTS) == 0
        if !isReused {
            timings.nameLookup = easy.time(DECORUM_CURL_INFORMATION_NAMELOOKUP_TIME)
            timings.connect = easy.time(DECORUM_CURL_INFORMATION_CONNECT_TIME)
            timings.handshake = easy.time(DECORUM_CURL_INFORMATION_APPCONNECT_TIME)
        }
        timings.isConnectionReused = isReused
        timings.firstByte = easy.time(DECORUM_CURL_INFORMATION_STARTTRANSFER_TIME)
        timings.protocolVersion = wire.head.version
        // For a socket of the file system, libcurl tells its path.
        if wire.loop?.hasUnixSocket == false {
            timings.remoteAddress = easy.text(DECORUM_CURL_INFORMATION_PRIMARY_IP)
        }
        return timings
    }

    enum Acceptance {
        case taken
        case later
        case never
    }

    /// Takes content, unless much of it waits for its reader.
    func receive(content: UnsafeRawBufferPointer) -> Acceptance {
        guard !wire.isDiscarding else { return .taken }
        guard wire.hasHead else { return refuseHead() ? .taken : .never }
        let acceptance = state.withLock { state -> Acceptance in
            guard state.end == nil else { return .never }
            guard unsafe state.content.append(content) else {
                state.receiving = .paused
                return .later
            }
            state.hasUnnotedProgress = true
            return .taken
        }
        switch acceptance {
        case .taken: wire.missingBytes? -= Int64(content.count)
        case .later: wire.marksHandle = true
        // The transfer ends here, before the loop is told to end it.
        case .never: easy?.closeConnection()
        }
        noteProgress()
        endBeforeUpload()
        return acceptance
    }

    /// Gives content to send; nil where there is none yet, and false in its place where there will be none.
    func supply(_ buffer: UnsafeMutableRawBufferPointer) -> CurlUpload.Supply {
        let (supply, producer) = state.withLock { state in
            guard state.end == nil else { return (CurlUpload.Supply.short, nil as CheckedContinuation<Bool, Never>?) }
            let result = unsafe state.upload.supply(buffer)
            if result.supply == .nothing { state.sending = .paused }
            return result
        }
        producer?.resume(returning: true)
        if supply == .end { wire.hasSuppliedEnd = true }
        // libcurl would wait for the rest until the server gives up.
        if supply == .short {
            easy?.closeConnection()
            abort(with: TransportError(.unreadableBody, at: state.withLock { $0.stage }, underlying: BodyLengthError()))
        }
        return supply
    }

    func noteSent(_ count: Int64) {
        guard count != wire.sentBytes else { return }
        wire.sentBytes = count
        noteProgress()
    }

    /// The trailer lines behind the request's content, which libcurl frees.
    var requestTrailers: UnsafeMutableRawPointer? {
        guard let trailers = state.withLock({ $0.upload.trailers }) else { return nil }
        let list = CurlList(library)
        for field in trailers {
            list.append(field)
        }
        return unsafe list.release()
    }
}
#endif
