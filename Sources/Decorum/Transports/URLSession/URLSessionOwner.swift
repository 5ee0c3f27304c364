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

    // On Linux, creating, resuming and cancelling a task waits for the network's queue, which may be busy. That must not
    // happen on a thread of Swift's concurrency, nor in a cancellation handler, where it deadlocks.
    let control = DispatchQueue(label: "decorum.urlsession")
    let transfers = OpenTransfers()
    private let configuration: URLSessionConfiguration
    private let sessionOfApp: URLSession?
    let platform: URLSessionPlatform
    private let current = Locked<Current?>(nil)

    /// Creates an owner from a configuration that the app cannot change any more, and overrules the settings that do the
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
        configuration.timeoutIntervalForRequest = URLSessionPlatform.noTimeout
        configuration.timeoutIntervalForResource = URLSessionPlatform.noTimeout
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
                exchange.abort(with: TransportError(.connectionLost, at: .connecting))
                return
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
