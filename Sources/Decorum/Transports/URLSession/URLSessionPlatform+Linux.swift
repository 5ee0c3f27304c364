#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import HTTPTypes

/// What URLSession needs to be told where it is built on libcurl.
struct URLSessionPlatform: Sendable {
    /// The codings that libcurl undoes, whether it was asked to or not.
    static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd"]

    // The timer restarts at whole seconds only and counts the time for which a request is queued.
    static let noTimeout: TimeInterval = 7 * 86_400

    /// The fields that URLSession and libcurl add by themselves.
    static let automaticFields: [HTTPField.Name] = [
        .userAgent, .accept, .acceptLanguage, .acceptEncoding, .connection, .contentType, .expect,
    ]

    // libcurl leaves out a field whose value is one blank; it sends one whose value is empty.
    static let absentField = " "

    /// Whether servers that ask for a certificate of the client get one; there is no way to set one here.
    let showsClientCertificate = false

    init() {}

    /// There is nothing that the platform takes from a configuration by itself.
    init(_ configuration: URLSessionConfiguration) {}

    static func validate(_ url: URL) throws(InvalidRequestError) {
        guard url.host?.contains(":") != true else {
            throw InvalidRequestError(
                .invalidHost, "URLSession on Linux cannot reach an IPv6 address; use a name that resolves to it.")
        }
    }

    /// Whether no more files can be opened, which libcurl tells like a host that cannot be reached.
    static var isOutOfDescriptors: Bool {
        let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }

    /// Whether a head is a proxy's answer to CONNECT, which libcurl hands over as if it came from the server.
    ///
    /// Only a proxy asks for its own credentials (RFC 9110, section 15.5.8), and within TLS there is none.
    static func isRefusal(_ head: HTTPResponse, byProxyOf origin: Origin) -> Bool {
        origin.scheme == "https" && head.status == .proxyAuthenticationRequired
    }

    func configure(_ configuration: URLSessionConfiguration) {}

    func makeDelegateQueue() -> OperationQueue? { InlineQueue() }
}

/// Runs the delegate on the session's own queue, which saves a queue that grows without bound while the disk is slow.
///
/// `@unchecked`, as the class it inherits from says of itself; it adds no state.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}

extension URLSessionEvents {
    /// Takes a `401` with a `Basic` challenge as the answer, which has arrived whole by now.
    ///
    /// Any other way out of this call loses the answer, or never ends.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // Its length, where there is one, was kept.
        exchange(of: task)?.complete(with: nil, task.response) {}
        control.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }

    /// Fails a request that libcurl is about to send again, with nothing in it, after it found a pooled connection dead.
    ///
    /// No task has a stream for its body here, so this is the only reason for the call.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        exchange(of: task)?.abort(with: TransportError(.connectionLost, at: .head))
        // The queue of all sessions waits for up to seven seconds when this is not called.
        completionHandler(nil)
    }
}
#endif
