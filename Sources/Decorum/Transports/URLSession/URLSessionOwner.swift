import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Owns a session and starts its tasks; when the owner is dropped, the session ends with its last task.
///
/// A session that has an unreliable connection is replaced by a new one. A session of the app is neither replaced nor
/// ended.
final class URLSessionOwner: Sendable {
    private struct Current {
        let session: URLSession
        let events: URLSessionEvents
    }

    // The session has a timer that cannot be turned off; on Linux it also counts while a request is queued.
    static let noTimeout: TimeInterval = 7 * 86_400

    // On Linux, creating, resuming and cancelling a task waits for the network's queue, which may be busy. That must not
    // happen on a thread of Swift's concurrency, nor in a cancellation handler, where it deadlocks.
    let control = DispatchQueue(label: "decorum.urlsession")
    let transfers = OpenTransfers()
    private let configuration: URLSessionConfiguration
    private let sessionOfApp: URLSession?
    let platform: URLSessionPlatform
    private let current = Locked<Current?>(nil)

    /// Creates an owner from a configuration that the app can no longer change, and overrules the settings that do the
    /// work of layers.
    init(_ configuration: URLSessionConfiguration, platform: URLSessionPlatform) {
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        configuration.httpAdditionalHeaders = nil
        // With pipelining, bytes behind an ambiguous head would become the responses to other requests.
        configuration.httpShouldUsePipelining = false
        configuration.timeoutIntervalForRequest = Self.noTimeout
        configuration.timeoutIntervalForResource = Self.noTimeout
        platform.configure(configuration)
        self.configuration = configuration
        sessionOfApp = nil
        self.platform = platform
    }

    /// Creates an owner of tasks in a session of the app, which needs the delegates of tasks that Apple's systems have.
    init(_ session: URLSession, platform: URLSessionPlatform) {
        configuration = session.configuration
        sessionOfApp = session
        self.platform = platform
    }

    deinit {
        guard sessionOfApp == nil, let session = current.withLock({ $0?.session }) else { return }
        control.async { session.finishTasksAndInvalidate() }
    }

    /// The session, as the layer names it.
    var setting: Layer.Setting {
        sessionOfApp == nil
            ? .init("connectionsPerHost", configuration.httpMaximumConnectionsPerHost)
            : .init("session", "the app's own")
    }

    func start(_ exchange: URLSessionExchange, _ request: URLRequest) {
        // The closure retains the owner, since making a task in an invalidated session traps.
        control.async { [self] in
            let current = takeCurrent()
            let task = exchange.begin { upload in
                upload.makeTask(with: request, in: current.session, for: exchange)
            }
            guard let task else { return }
            if sessionOfApp != nil { task.delegate = current.events }
            if let priority = exchange.priority { task.priority = priority.ofURLSessionTask }
            guard current.events.add(exchange, for: task) else {
                return exchange.abort(with: TransportError(.connectionLost, at: .connecting))
            }
            task.resume()
        }
    }

    /// Closes the transfers, and then the connections.
    func close() async {
        await transfers.close()
        guard sessionOfApp == nil, transfers.isOver, let events = current.withLock({ $0?.events }) else { return }
        replace(events)
    }

    /// Returns the session in which tasks are made, and creates it if absent.
    ///
    /// It is called on the control queue alone, so that no two sessions are made.
    private func takeCurrent() -> Current {
        if let current = current.withLock(\.self) { return current }
        let events = URLSessionEvents(control: control, platform: platform) { [weak self] events in
            self?.replace(events)
        }
        let session =
            sessionOfApp
            ?? URLSession(configuration: configuration, delegate: events, delegateQueue: platform.makeDelegateQueue())
        let made = Current(session: session, events: events)
        current.withLock { $0 = made }
        return made
    }

    /// Makes later requests use a new session, or new connections of the app's; the tasks of this one go on to their ends.
    private func replace(_ events: URLSessionEvents) {
        let session = current.withLock { current in
            guard current?.events === events else { return nil as URLSession? }
            return current.take()?.session
        }
        guard let session else { return }
        // On the control queue, after the tasks that are being made.
        control.async { [sessionOfApp] in
            if sessionOfApp == nil { session.finishTasksAndInvalidate() } else { session.flush {} }
        }
    }
}

/// The delegate of a session, which reports to each exchange the events of its task.
///
/// On Linux it runs on the queue that carries the network of all sessions in the process, so it never waits.
final class URLSessionEvents: NSObject, URLSessionDataDelegate {
    private struct State: ~Copyable {
        var exchanges: [Int: URLSessionExchange] = [:]
        /// The origins of responses whose end is ambiguous.
        var unreliable: Set<Origin> = []
    }

    private let state = Mutex(State())
    /// The queue on which tasks are made and cancelled.
    private let control: DispatchQueue
    private let platform: URLSessionPlatform
    private let replace: @Sendable (URLSessionEvents) -> Void

    /// Creates a delegate, which calls `replace` when no more tasks must be made in the session.
    init(
        control: DispatchQueue, platform: URLSessionPlatform, replace: @escaping @Sendable (URLSessionEvents) -> Void
    ) {
        (self.control, self.platform, self.replace) = (control, platform, replace)
    }

    /// Adds an exchange whose task has not been started; returns false if its origin is unreliable in this session.
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

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse, let exchange = exchange(of: dataTask) {
            if state.withLock({ $0.unreliable.contains(exchange.origin) }) {
                exchange.abort(with: TransportError(.connectionLost, at: .head))
            } else {
                exchange.receive(response) { distrust(exchange) }
            }
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.receive(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?.sent(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
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
        _ session: URLSession, dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Answers the challenges of TLS alone, so that a `401` or `407` comes back as a response.
    ///
    /// In a session of the app, its delegate answers them, which may pin certificates.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
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
                return completionHandler(.performDefaultHandling, nil)
            }
            let exchange = exchange(of: task)
            // The system may ask the network whether a certificate was revoked, and the delegate must not wait.
            DispatchQueue.global().async {
                guard let trust = space.serverTrust else {
                    return completionHandler(.cancelAuthenticationChallenge, nil)
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
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        guard let exchange = exchange(of: task), case .large(let upload) = exchange.upload else {
            return completionHandler(nil)
        }
        completionHandler(upload.makeStream(for: exchange))
    }
}
#endif

#if canImport(FoundationNetworking)
extension URLSessionEvents {
    /// Ends the exchange with the `401` whose `Basic` challenge this is; the response is complete by now.
    ///
    /// With any other disposition the platform loses the response, or never ends the task.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
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
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        exchange(of: task)?.abort(with: TransportError(.connectionLost, at: .head))
        // Without this call, the queue of all sessions waits for up to seven seconds.
        completionHandler(nil)
    }
}
#endif
