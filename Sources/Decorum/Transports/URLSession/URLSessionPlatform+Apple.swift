#if !canImport(FoundationNetworking)
import Foundation
import HTTPTypes

/// What URLSession needs to be told on Apple's systems.
struct URLSessionPlatform: Sendable {
    /// The codings that URLSession undoes.
    static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br"]

    static let noTimeout: TimeInterval = 7 * 86_400

    /// The fields that URLSession adds by itself and lets a caller take away.
    static let automaticFields: [HTTPField.Name] = []

    static let absentField = ""

    var tls = URLSessionConnection.TLS()

    /// Whether servers that ask for a certificate of the client get one.
    var showsClientCertificate: Bool { tls.clientCredential != nil }

    init(tls: URLSessionConnection.TLS = .init()) {
        self.tls = tls
    }

    /// Leaves the versions of TLS as the configuration has them.
    init(_ configuration: URLSessionConfiguration) {
        tls.minimumVersion = configuration.tlsMinimumSupportedProtocolVersion
    }

    /// Nothing that URLSession takes for another failure.
    static let isOutOfDescriptors = false

    /// Never: URLSession keeps the answers of proxies to itself.
    static func isRefusal(_ head: HTTPResponse, byProxyOf origin: Origin) -> Bool { false }

    static func validate(_ url: URL) throws(InvalidRequestError) {}

    func configure(_ configuration: URLSessionConfiguration) {
        configuration.tlsMinimumSupportedProtocolVersion = tls.minimumVersion
    }

    func makeDelegateQueue() -> OperationQueue? { nil }
}

extension URLSessionEvents {
    /// Answers the challenges of TLS alone, so that a `401` or `407` comes back as a response.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        switch space.authenticationMethod {
        case NSURLAuthenticationMethodServerTrust:
            guard let evaluate = platform.tls.evaluateTrust, let trust = space.serverTrust else {
                completionHandler(.performDefaultHandling, nil)
                return
            }
            if evaluate(trust, space.host) {
                completionHandler(.useCredential, URLCredential(trust: trust))
            } else {
                exchange(of: task)?.abort(with: TransportError(.tls, at: .connecting))
                completionHandler(.cancelAuthenticationChallenge, nil)
            }
        case NSURLAuthenticationMethodClientCertificate:
            let credential = platform.tls.clientCredential
            completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
        default:
            completionHandler(.rejectProtectionSpace, nil)
        }
    }

    /// Gives a task the stream that its body is read into.
    ///
    /// A second call comes where URLSession sends the request again; a body that may be read once then fails it.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(exchange(of: task)?.makeUploadStream())
    }
}

extension URLSessionExchange {
    fileprivate func makeUploadStream() -> InputStream? {
        guard case .large(let upload) = upload else { return nil }
        return upload.makeStream(for: self)
    }
}
#endif
