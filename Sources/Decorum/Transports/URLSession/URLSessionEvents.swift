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
