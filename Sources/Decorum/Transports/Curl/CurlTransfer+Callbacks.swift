#if os(Linux)
import DecorumCurl
import Foundation

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
