import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Owns one session: it starts tasks, and lets the session end with its last task once nobody can start another.
final class URLSessionOwner: Sendable {
    // On Linux, creating, resuming and cancelling a task waits for the network's queue, which may be busy: not on a
    // thread of Swift's concurrency, and not in a cancellation handler, where it deadlocks.
    let control = DispatchQueue(label: "decorum.urlsession")
    private let session: URLSession
    private let events: URLSessionEvents

    init(connectionsPerHost: Int, platform: URLSessionPlatform) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = connectionsPerHost
        configuration.timeoutIntervalForRequest = URLSessionPlatform.noTimeout
        configuration.timeoutIntervalForResource = URLSessionPlatform.noTimeout
        platform.configure(configuration)
        events = URLSessionEvents(control: control, platform: platform)
        session = URLSession(
            configuration: configuration, delegate: events, delegateQueue: platform.makeDelegateQueue())
    }

    deinit {
        control.async { [session] in session.finishTasksAndInvalidate() }
    }

    func start(_ exchange: URLSessionExchange, _ request: URLRequest) {
        // The closure holds the owner: to make a task after the session was invalidated traps.
        control.async { [self] in
            guard let task = exchange.begin({ $0.makeTask(with: request, in: session, for: exchange) }) else { return }
            events.add(exchange, for: task)
            task.resume()
        }
    }
}
