/// Something that sends a request and answers with a response: a transport, or a connection wrapped by another.
///
/// A transport such as ``URLSessionConnection`` is a connection. The result of every modifier is a connection too, and
/// so is a test double. Code that sends requests takes `some Connection` or `any Connection` and does not depend on the
/// implementation.
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
/// A decorator conforms to ``ComposedConnection``. A transport or a test double conforms to this protocol directly, or
/// is a ``ClosureConnection``. It calls ``Request/reportSending(showingClientCertificate:)`` before it sends, so that
/// layers further out know whether they may share and store the response.
///
/// An implementation may answer without sending, send once, or send several times. An HTTP status is not an error:
/// throw only when there is no answer, rethrow the errors of `base` unchanged, and never replace `CancellationError`.
/// ``send(_:)`` runs on the actor of its caller, so that an answer from memory costs no switch between executors. Do
/// heavy work, such as hashing or reading files, in a separate `@concurrent` function.
///
/// A connection is printed as its ``layers``, one a line, with their ``findings``, and as its layers in one line if it is a
/// property of another value that is printed. ``explain()`` tells the worst case of a call too.
public protocol Connection: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Sends a request and returns the response as soon as its head has arrived.
    ///
    /// The body of the response is still being received. Read it or drop it: dropping an unread body ends its transfer.
    ///
    /// - Parameter request: The request to send.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``TransportError`` when no answer arrived, `CancellationError` when the task was cancelled, and the
    ///   errors that the layers of this connection document.
    nonisolated(nonsending) func send(_ request: consuming Request) async throws -> Response

    /// The layers that a request passes, outermost first; the transport is the last.
    var layers: [Layer] { get }
}

extension Connection {
    /// One layer named after the type, without facts; enough for a test double or a first draft.
    public var layers: [Layer] {
        [Layer(describing: Self.self, role: .transport)]
    }

    /// The layers in one line.
    public var debugDescription: String { "\(layers)" }

    /// A mirror with only the layers, since the parts of a connection are many and may hold secrets.
    public var customMirror: Mirror { Mirror(self, children: ["layers": layers.map(\.description)]) }
}
