#if !canImport(FoundationNetworking)
import Foundation

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
    ///
    /// In a session of the app, its delegate answers them, which may pin certificates.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        let delegate = session.delegate
        switch space.authenticationMethod {
        case NSURLAuthenticationMethodServerTrust where delegate !== self,
            NSURLAuthenticationMethodClientCertificate where delegate !== self:
            let ofTask = delegate as? any URLSessionTaskDelegate
            if let answer = ofTask?.urlSession(_:task:didReceive:completionHandler:) {
                answer(session, task, challenge, completionHandler)
            } else if let answer = delegate?.urlSession(_:didReceive:completionHandler:) {
                answer(session, challenge, completionHandler)
            } else {
                completionHandler(.performDefaultHandling, nil)
            }
        case NSURLAuthenticationMethodServerTrust:
            guard let tls = platform.tls, !tls.leavesTrustToSystem else {
                completionHandler(.performDefaultHandling, nil)
                return
            }
            let exchange = exchange(of: task)
            // The system may ask the network whether a certificate was revoked, and the delegate must not wait.
            DispatchQueue.global().async {
                guard let trust = space.serverTrust else {
                    completionHandler(.cancelAuthenticationChallenge, nil)
                    return
                }
                do {
                    let certificates = try tls.evaluate(trust, of: space.host)
                    exchange?.receive(certificates: certificates)
                    completionHandler(tls.acceptance, URLCredential(trust: trust))
                } catch {
                    exchange?.abort(with: error)
                    completionHandler(.cancelAuthenticationChallenge, nil)
                }
            }
        case NSURLAuthenticationMethodClientCertificate:
            let credential = platform.tls?.credential
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
