#if !canImport(FoundationNetworking)
import Foundation
import Security

extension URLSessionEvents {
    /// Receives the head of an informational response, which is no other event here.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        exchange(of: task)?.receive(response) {}
    }

    /// Stores nothing, also where the session is the app's and has a cache.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(nil)
    }

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
            guard let evaluate = platform.evaluateTrust, let trust = space.serverTrust else {
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
            let credential = platform.clientCredential
            completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
        default:
            completionHandler(.rejectProtectionSpace, nil)
        }
    }

    /// Gives a task the stream that it reads its content from.
    ///
    /// URLSession calls a second time when it sends the request again; a body that may be read once then fails the exchange.
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
