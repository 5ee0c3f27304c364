#if !canImport(FoundationNetworking)
import Foundation
import HTTPTypes

/// The properties of URLSession on Apple's systems.
struct URLSessionPlatform: Sendable {
    static let isBuiltOnLibcurl = false

    /// The codings that URLSession undoes.
    static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br"]

    /// URLSession sends again without notice where a pooled connection turns out to be dead.
    static let sends = 1...2

    static func bytesHeld(byBacklogOf bytes: Int) -> Layer.Bound<Int> { .atMost(bytes) }

    static let noTimeout: TimeInterval = 7 * 86_400

    /// The fields that URLSession adds and that a caller can remove.
    static let automaticFields: [HTTPField.Name] = []

    static let absentField = ""

    /// The options for TLS; nil where the configuration of the app decides.
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
#endif
