#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

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
