#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import HTTPTypes

/// The properties of URLSession on Linux, where it is built on libcurl.
struct URLSessionPlatform: Sendable {
    static let isBuiltOnLibcurl = true

    /// The codings that libcurl undoes, whether it was asked to or not.
    static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd"]

    /// libcurl sends again without notice where a pooled connection turns out to be dead, and after a 417.
    static let sends = 1...3

    /// The body of a redirection is held in memory without a bound.
    static func bytesHeld(byBacklogOf bytes: Int) -> Layer.Bound<Int> { .unbounded }

    /// The fields that URLSession and libcurl add by themselves.
    static let automaticFields: [HTTPField.Name] = [
        .userAgent, .accept, .acceptLanguage, .acceptEncoding, .connection, .contentType, .expect,
    ]

    // libcurl leaves out a field whose value is one blank, and sends one whose value is empty.
    static let absentField = " "

    /// Whether the client has a certificate for servers that ask for one; on Linux none can be set.
    let showsClientCertificate = false

    /// The settings that the layer shows.
    let settings: [Layer.Setting] = []

    init() {}

    /// The configuration has no setting that this type keeps on Linux.
    init(_ configuration: URLSessionConfiguration) {}

    static func validate(_ url: URL) throws(InvalidRequestError) {
        guard url.host?.contains(":") != true else {
            throw InvalidRequestError(
                .invalidHost, "URLSession on Linux cannot reach an IPv6 address; use a name that resolves to it.")
        }
    }

    /// Does nothing, since libcurl does not know the kinds of networks.
    static func apply(_ access: NetworkAccess, to request: inout URLRequest) {}

    /// Always nil, since no network is forbidden.
    static func forbiddenNetwork(_ failure: URLError) -> String? { nil }

    /// Whether the process cannot open another file, for which libcurl has the same error as for an unreachable host.
    static var isOutOfDescriptors: Bool {
        let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }

    /// Whether a head is a proxy's answer to CONNECT, which libcurl reports as if the server had sent it.
    ///
    /// Only a proxy answers with this status (RFC 9110, section 15.5.8), and within TLS there is no proxy.
    static func isRefusal(_ head: HTTPResponse, byProxyOf origin: Origin) -> Bool {
        origin.scheme == "https" && head.status == .proxyAuthenticationRequired
    }

    func configure(_ configuration: URLSessionConfiguration) {}

    func makeDelegateQueue() -> OperationQueue? { InlineQueue() }
}

/// Runs the delegate on the session's own queue, since another queue would grow without bound while the disk is slow.
///
/// `@unchecked`, like its base class; it adds no state.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}

/// No flow control: URLSession on Linux cannot hold a server back, so unread bytes go to the disk.
///
/// Suspending a task would close its connection, and resuming it would send its request a second time.
struct URLSessionFlowControl: Sendable {
    let isHoldingBack = false

    func received(by buffer: URLSessionResponseBuffer, _ task: URLSessionTask?, on control: DispatchQueue) {}

    func read(from buffer: URLSessionResponseBuffer) -> Bool { false }
}
#endif
