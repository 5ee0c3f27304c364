#if !canImport(FoundationNetworking)
import Foundation
import HTTPTypes
import Synchronization

/// The properties of URLSession on Apple's systems.
struct URLSessionPlatform: Sendable {
    static let isBuiltOnLibcurl = false

    /// The codings that URLSession undoes.
    static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br"]

    /// URLSession sends again without notice where a pooled connection turns out to be dead.
    static let sends = 1...2

    static func bytesHeld(byBacklogOf bytes: Int) -> Layer.Bound<Int> { .atMost(bytes) }

    /// The fields that URLSession adds and that a caller can remove.
    static let automaticFields: [HTTPField.Name] = []

    static let absentField = ""

    /// The options for TLS; nil if the configuration of the app decides.
    let tls: URLSessionTLS?

    /// Whether the client has a certificate for servers that ask for one.
    var showsClientCertificate: Bool { tls?.credential != nil }

    /// The settings that the layer shows.
    var settings: [Layer.Setting] { tls?.options.settings ?? [] }

    init(_ tls: URLSessionTLS = URLSessionTLS()) {
        self.tls = tls
    }

    /// Keeps the versions of TLS that the configuration has.
    init(_ configuration: URLSessionConfiguration) {
        tls = nil
    }

    /// Always false, since URLSession reports no other failure for a process that cannot open another file.
    static let isOutOfDescriptors = false

    /// Always false, since URLSession does not report the answers of proxies as responses.
    static func isRefusal(_ head: HTTPResponse, byProxyOf origin: Origin) -> Bool { false }

    static func validate(_ url: URL) throws(InvalidRequestError) {}

    /// Restricts a request to the networks that its options allow.
    static func apply(_ access: NetworkAccess, to request: inout URLRequest) {
        if let isAllowed = access.cellular { request.allowsCellularAccess = isAllowed }
        if let isAllowed = access.expensive { request.allowsExpensiveNetworkAccess = isAllowed }
        if let isAllowed = access.constrained { request.allowsConstrainedNetworkAccess = isAllowed }
        if let type = access.serviceType.flatMap({ URLRequest.NetworkServiceType(rawValue: $0.number) }) {
            request.networkServiceType = type
        }
    }

    /// The reason why the request or the session forbids the network that there is, in words; nil for other failures.
    static func forbiddenNetwork(_ failure: URLError) -> String? {
        switch failure.networkUnavailableReason {
        case nil: nil
        case .cellular: "cellular access is not allowed"
        case .expensive: "expensive network access is not allowed"
        case .constrained: "constrained network access is not allowed"
        default: "access to this network is not allowed"
        }
    }

    func configure(_ configuration: URLSessionConfiguration) {
        if let tls { configuration.tlsMinimumSupportedProtocolVersion = tls.minimumVersion }
    }

    func makeDelegateQueue() -> OperationQueue? { nil }
}

/// Holds a server back while many bytes wait to be read.
final class URLSessionFlowControl: Sendable {
    private struct State {
        var suspended: URLSessionTask?
        var control: DispatchQueue?
    }

    private let state = Mutex(State())

    var isHoldingBack: Bool {
        state.withLock { $0.suspended != nil }
    }

    /// Suspends the task once more than half of the bytes that memory may hold wait to be read.
    func received(by buffer: URLSessionResponseBuffer, _ task: URLSessionTask?, on control: DispatchQueue) {
        guard let task else { return }
        state.withLock { state in
            guard state.suspended == nil, buffer.isHalfFull else { return }
            state.suspended = task
            state.control = control
            // Enqueued under the lock, so that suspending and resuming are in the order of the decisions.
            control.async { task.suspend() }
        }
    }

    /// Resumes the task once few enough bytes wait, and returns whether it did.
    func read(from buffer: URLSessionResponseBuffer) -> Bool {
        state.withLock { state in
            guard let task = state.suspended, !buffer.isHalfFull else { return false }
            state.control?.async { task.resume() }
            state.suspended = nil
            return true
        }
    }
}

extension URLSessionResponseBuffer {
    fileprivate var isHalfFull: Bool { waiting.memory > memoryBound / 2 || waiting.disk > 0 }
}
#endif
