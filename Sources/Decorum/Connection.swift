/// Something that sends a request and answers with a response: a transport, or a connection wrapped by another.
///
/// A transport such as ``URLSessionConnection`` is a connection. So is every modifier's result, and so is the value
/// that a test puts in their place. Code that talks to a server takes `some Connection` or `any Connection`
/// and knows nothing of what stands behind it.
///
/// ```swift
/// let connection = try SystemConnection()
///     .authenticating(with: .bearer("token"), for: api)
///     .retrying()
///     .caching(in: MemoryResponseStore())
///     .followingRedirects()
/// let response = try await connection.send(.get("https://api.example.com/feed"))
/// ```
///
/// ## Order
///
/// **The last modifier applied is the outermost: it sees the request first and the response last.** Read a stack
/// from the bottom to follow a request, and from the top to follow its response.
///
/// ```swift
/// // Each attempt is a line in the log: a request passes `retrying`, then `logging`, once for every attempt.
/// let attempts = transport.logging(to: sink).retrying()
///
/// // Each call is a line in the log, however many attempts it took: `logging` is outside `retrying`.
/// let calls = transport.retrying().logging(to: sink)
/// ```
///
/// ## Writing one
///
/// A decorator conforms to ``ComposedConnection``. A transport or a test double conforms to this protocol
/// directly, or is a ``ClosureConnection``. It calls ``Request/reportSending(showingClientCertificate:)`` before it sends, so
/// that layers further out know whether they may share and store the response.
///
/// An implementation may answer without sending, send once, or send several times. An HTTP status is not an error:
/// throw only for what kept you from getting an answer, let the errors of `base` pass as they are, and leave
/// `CancellationError` alone. ``send(_:)`` runs where its caller runs, so that an answer from memory costs no hop;
/// do heavy work, such as hashing or reading files, in a `@concurrent` function of your own.
public protocol Connection: Sendable {
    /// Sends a request and returns the response as soon as its head has arrived.
    ///
    /// The response's body is still under way. Read it, or drop it: a body that is dropped unread ends its transfer.
    ///
    /// - Parameter request: The request to send.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``TransportError`` when no answer arrived, `CancellationError` when the task was cancelled, and
    ///   whatever the layers of this connection document.
    nonisolated(nonsending) func send(_ request: consuming Request) async throws -> Response

    /// The layers that a request passes, outermost first; the transport is the last.
    var layers: [Layer] { get }
}

extension Connection {
    /// One layer named for the type, without any facts: what suits a test double or a first draft.
    public var layers: [Layer] {
        [Layer(describing: Self.self, role: .transport)]
    }
}
