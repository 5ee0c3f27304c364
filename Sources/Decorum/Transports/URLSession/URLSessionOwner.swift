import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Owns a session: it starts tasks, and lets the session end with its last task once none can be started any more.
///
/// A session of which a connection can no longer be relied upon is replaced by a new one.
final class URLSessionOwner: Sendable {
    private struct Current {
        let session: URLSession
        let events: URLSessionEvents
    }

    // On Linux, creating, resuming and cancelling a task waits for the network's queue, which may be busy: not on a
    // thread of Swift's concurrency, and not in a cancellation handler, where it deadlocks.
    let control = DispatchQueue(label: "decorum.urlsession")
    let transfers = OpenTransfers()
    private let configuration: URLSessionConfiguration
    private let platform: URLSessionPlatform
    private let current = Locked<Current?>(nil)

    /// Takes a configuration that the app cannot change any more, and overrules what belongs to layers.
    init(_ configuration: URLSessionConfiguration, platform: URLSessionPlatform) {
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        configuration.httpAdditionalHeaders = nil
        // A bad head would be taken for the answers to the requests behind it.
        configuration.httpShouldUsePipelining = false
        configuration.timeoutIntervalForRequest = URLSessionPlatform.noTimeout
        configuration.timeoutIntervalForResource = URLSessionPlatform.noTimeout
        platform.configure(configuration)
        self.configuration = configuration
        self.platform = platform
    }

    deinit {
        guard let session = current.withLock({ $0?.session }) else { return }
        control.async { session.finishTasksAndInvalidate() }
    }

    func start(_ exchange: URLSessionExchange, _ request: URLRequest) {
        // The closure holds the owner: to make a task after the session was invalidated traps.
        control.async { [self] in
            let current = takeCurrent()
            let make = { (upload: Upload) in upload.makeTask(with: request, in: current.session, for: exchange) }
            guard let task = exchange.begin(make) else { return }
            guard current.events.add(exchange, for: task) else {
                exchange.abort(with: TransportError(.connectionLost, at: .connecting))
                return
            }
            task.resume()
        }
    }

    /// Refuses new requests, waits for those that are under way, and closes their connections.
    func close() async {
        await transfers.close()
        guard transfers.isOver, let events = current.withLock({ $0?.events }) else { return }
        replace(events)
    }

    /// The session that tasks are made in, and a new one where there is none.
    ///
    /// Called on the control queue alone, so that no two are made.
    private func takeCurrent() -> Current {
        if let current = current.withLock(\.self) { return current }
        let events = URLSessionEvents(control: control, platform: platform) { [weak self] events in
            self?.replace(events)
        }
        let session = URLSession(
            configuration: configuration, delegate: events, delegateQueue: platform.makeDelegateQueue())
        let made = Current(session: session, events: events)
        current.withLock { $0 = made }
        return made
    }

    /// Lets later requests have a new session; the tasks of this one go on to their ends.
    private func replace(_ events: URLSessionEvents) {
        let session = current.withLock { current in
            guard current?.events === events else { return nil as URLSession? }
            return current.take()?.session
        }
        // Behind the tasks that are being made.
        control.async { session?.finishTasksAndInvalidate() }
    }
}
