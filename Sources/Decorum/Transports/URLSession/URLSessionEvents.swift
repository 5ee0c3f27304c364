import Foundation
import Synchronization
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The delegate of a session, which reports to each exchange the events of its task.
///
/// On Linux it runs on the queue that carries the network of all sessions in the process, so it never waits.
final class URLSessionEvents: NSObject, URLSessionDataDelegate {
    private struct State {
        var exchanges: [Int: URLSessionExchange] = [:]
        /// The origins of responses whose end is ambiguous.
        var unreliable: Set<Origin> = []
    }

    private let state = Mutex(State())
    let control: DispatchQueue
    let platform: URLSessionPlatform
    private let replace: @Sendable (URLSessionEvents) -> Void

    /// Creates a delegate.
    ///
    /// - Parameters:
    ///   - control: The queue on which tasks are made and cancelled.
    ///   - platform: The properties of the platform.
    ///   - replace: Called when no more tasks must be made in the session.
    init(
        control: DispatchQueue, platform: URLSessionPlatform, replace: @escaping @Sendable (URLSessionEvents) -> Void
    ) {
        self.control = control
        self.platform = platform
        self.replace = replace
    }

    /// Adds an exchange whose task has not been started; false where its origin is unreliable in this session.
    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) -> Bool {
        state.withLock { state in
            state.exchanges[task.taskIdentifier] = exchange
            return !state.unreliable.contains(exchange.origin)
        }
    }

    func exchange(of task: URLSessionTask) -> URLSessionExchange? {
        state.withLock { $0.exchanges[task.taskIdentifier] }
    }

    /// Stops using the session after a response whose end is ambiguous.
    ///
    /// The platform may have put the connection back into the pool, with the rest of the response on it. Later requests use
    /// another session. A request to the same origin that awaits its response may have been sent on that connection and
    /// fails, since the bytes that come may be that rest.
    private func distrust(_ answered: URLSessionExchange) {
        let origin = answered.origin
        let exchanges = state.withLock { state in
            state.unreliable.insert(origin)
            return state.exchanges.values.filter { $0 !== answered && $0.origin == origin }
        }
        replace(self)
        for exchange in exchanges where exchange.stage == .head {
            exchange.abort(with: TransportError(.connectionLost, at: .head))
        }
    }

    private func isReliable(_ origin: Origin) -> Bool {
        state.withLock { !$0.unreliable.contains(origin) }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse, let exchange = exchange(of: dataTask) {
            receive(response, for: exchange)
        }
        completionHandler(.allow)
    }

    private func receive(_ response: HTTPURLResponse, for exchange: URLSessionExchange) {
        guard isReliable(exchange.origin) else {
            exchange.abort(with: TransportError(.connectionLost, at: .head))
            return
        }
        exchange.receive(response) { distrust(exchange) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.receive(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?.sent(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = state.withLock({ $0.exchanges.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.complete(with: error, task.response) { distrust(exchange) }
    }
}

#if !canImport(FoundationNetworking)
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

#if canImport(FoundationNetworking)
extension URLSessionEvents {
    /// Ends the exchange with the `401` whose `Basic` challenge this is; the response is complete by now.
    ///
    /// With any other disposition the platform loses the response, or never ends the task.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // The body has the length that the head announced, so there is no reason to distrust the connection.
        exchange(of: task)?.complete(with: nil, task.response) {}
        control.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }

    /// Fails a request that libcurl is about to send again without its content, since its pooled connection was dead.
    ///
    /// No task has a stream for its body here, so this is the only reason for the call.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        exchange(of: task)?.abort(with: TransportError(.connectionLost, at: .head))
        // Without this call, the queue of all sessions waits for up to seven seconds.
        completionHandler(nil)
    }
}
#endif
