#if !canImport(FoundationNetworking)
public import Foundation
import HTTPTypes

extension URLSessionConnection {
    /// Creates a connection that sends with a session of the app; on Linux, where a task has no delegate, there is none.
    ///
    /// ```swift
    /// let connection = try URLSessionConnection(session: .shared)
    /// ```
    ///
    /// Requests share the connections of the session with those of the app. Neither ``close()`` nor the end of the
    /// connection ends the session; it must stay valid for as long as the connection sends. Its cookies and its cache are
    /// not used, a `401` is not answered with its stored credentials, and redirections are not followed. This connection
    /// cannot overrule the rest:
    ///
    /// - Its timeouts end a transfer beside those of this connection, and its `protocolClasses` may change requests. Its
    ///   `httpAdditionalHeaders` become fields of each request, as with
    ///   ``init(configuration:idleTimeout:backlog:clock:)``.
    /// - Its delegate answers the challenges for the whole session, `urlSession(_:didReceive:completionHandler:)`, and those
    ///   for a task about trust and client certificates. For all else that it could be asked about a task, this connection
    ///   answers.
    /// - Its `delegateQueue` carries the events, so it must be serial, and not that of the main thread.
    /// - Responses that depend on a client certificate of its delegate are not told from others: set
    ///   ``RequestOptions/principal``, or do not cache them.
    /// - After a response whose end is ambiguous, `flush` makes the session use new connections.
    ///
    /// - Parameters:
    ///   - session: The session, which is not that of the background.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise. More than seven days
    ///     count as seven days; with a negative time, sending throws.
    ///   - backlog: The number of bytes of a response that may wait for a slow reader.
    ///   - clock: The clock that the idle timeout goes by.
    /// - Throws: ``InvalidRequestError`` when the session is one of the background, and when the name of an additional
    ///   header of its configuration is not a token, or its value is not text.
    public init(
        session: URLSession,
        idleTimeout: Duration = .seconds(60),
        backlog: Backlog = Backlog(),
        clock: any DatedClock = SystemClock()
    ) throws(InvalidRequestError) {
        let configuration = session.configuration
        let fields = try Self.additionalFields(of: configuration)
        self.init(
            URLSessionOwner(session, platform: URLSessionPlatform(configuration)), additionalFields: fields,
            idleTimeout: idleTimeout, backlog: backlog, clock: clock)
    }
}
#endif
