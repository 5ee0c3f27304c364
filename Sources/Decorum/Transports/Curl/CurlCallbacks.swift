#if os(Linux)
import DecorumCurl
import Foundation

/// The functions that libcurl calls, each with an exchange for its context.
enum CurlCallbacks {
    private static func exchange(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    }

    static let line: decorum_curl_data_callback = { bytes, size, count, context in
        guard let exchange = unsafe exchange(context) else { return 0 }
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe exchange.receive(line: line) ? line.count : 0
    }

    static let content: decorum_curl_data_callback = { bytes, size, count, context in
        guard let exchange = unsafe exchange(context) else { return 0 }
        let content = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        switch unsafe exchange.receive(content: content) {
        case .taken: return content.count
        case .later: return Int(DECORUM_CURL_WRITE_PAUSE)
        // Any number but that of the bytes ends the transfer; no byte is no other number.
        case .never: return unsafe content.isEmpty ? 1 : 0
        }
    }

    static let supply: decorum_curl_data_callback = { bytes, size, count, context in
        guard let exchange = unsafe exchange(context) else { return Int(DECORUM_CURL_READ_ABORT) }
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        switch unsafe exchange.supply(buffer) {
        case .bytes(let count): return count
        case .nothing: return Int(DECORUM_CURL_READ_PAUSE)
        case .end: return 0
        case .short: return Int(DECORUM_CURL_READ_ABORT)
        }
    }

    static let progress: decorum_curl_progress_callback = { context, _, _, _, sent in
        unsafe exchange(context)?.noteSent(sent)
        return 0
    }

    static let trailers: decorum_curl_trailers_callback = { list, context in
        guard let list = unsafe list, let exchange = unsafe exchange(context) else {
            return Int32(DECORUM_CURL_TRAILERS_ABORT)
        }
        unsafe list.pointee = exchange.requestTrailers
        return Int32(DECORUM_CURL_TRAILERS_OK)
    }

    static let socket: decorum_curl_socket_callback = { context, _, address in
        let descriptor = unsafe decorum_curl_open_socket(address)
        let reason = errno
        unsafe exchange(context)?.noteSocket(descriptor, reason)
        return descriptor
    }

    /// The one function whose context is the loop's sockets, since a connection outlives the exchange that made it.
    static let close: decorum_curl_close_callback = { context, descriptor in
        guard let context = unsafe context else { return decorum_curl_close_socket(descriptor) }
        return unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().close(descriptor)
    }

    static let prerequest: decorum_curl_prerequest_callback = { context, _, _, remote, local in
        let ends = CurlSockets.Ends(local: local, remote: remote)
        guard let exchange = unsafe exchange(context), exchange.allowAttempt(between: ends) else {
            return Int32(DECORUM_CURL_PREREQUEST_ABORT)
        }
        return Int32(DECORUM_CURL_PREREQUEST_OK)
    }
}
#endif
