// Code that composes a stack names methods, statuses and fields, so one import gives it those types too.
@_exported public import HTTPTypes

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
/// let attempts = transport.logging(to: sink, as: .attempt).retrying()
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
/// An HTTP status is not an error: throw only when there is no answer, rethrow the errors of `base` unchanged, and never
/// replace `CancellationError`. ``send(_:)`` runs on the actor of its caller: do heavy work, such as hashing or reading
/// files, in a separate `@concurrent` function.
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
    public var customMirror: Mirror { Mirror(describing: self, as: "layers", layers.map(\.description)) }
}

/// A connection that wraps another: the protocol of every decorator.
///
/// ```swift
/// struct TaggingConnection<Base: Connection>: ComposedConnection {
///     let base: Base
///
///     func send(_ request: consuming Request) async throws -> Response {
///         request.head.headerFields[.init("X-Tag")!] = "spring"
///         return try await base.send(request)
///     }
/// }
///
/// extension Connection {
///     func tagging() -> some Connection { TaggingConnection(base: self) }
/// }
/// ```
///
/// The base is generic, or an ``AnyConnection``: `any Connection` cannot be a `Base`, since it is no type that conforms to
/// ``Connection``.
///
/// Put state that outlives a request, such as a counter or a store, into a separate type that the decorator holds. A
/// decorator is a value, and one stack serves many requests at the same time.
///
/// Behind `any Connection`, each `send` costs two asynchronous call frames. A `send` that is marked
/// `@inline(__always)`, as in Decorum's own layers, costs one.
public protocol ComposedConnection: Connection {
    /// The connection that this one wraps.
    associatedtype Base: Connection

    /// The wrapped connection, which sends the requests that this one forwards.
    var base: Base { get }

    /// The description of this layer, for ``Connection/layers``.
    var layer: Layer { get }
}

extension ComposedConnection {
    /// A layer named after the type, without facts.
    public var layer: Layer {
        Layer(describing: Self.self)
    }

    /// This layer, followed by the layers of ``ComposedConnection/base``.
    public var layers: [Layer] {
        [layer] + base.layers
    }
}

/// A connection of any type, for places that need a single type.
///
/// `any Connection` works everywhere too, and costs about the same.
public struct AnyConnection: Connection {
    // This is not a closure over the connection. Most callers know a stack only as `some Connection`; a closure created
    // there would look up that type, layer by layer, for each request.
    @usableFromInline let connection: any Connection

    /// The layers of the wrapped connection.
    public let layers: [Layer]

    /// Wraps a connection.
    ///
    /// - Parameter connection: The connection to send with.
    @inlinable public init(_ connection: some Connection) {
        layers = connection.layers
        self.connection = connection
    }

    /// Sends a request through the wrapped connection.
    @inlinable public func send(_ request: consuming Request) async throws -> Response {
        try await connection.send(request)
    }
}

/// A connection that calls a closure: the base of a stack that is used once, or an adapter to another client.
///
/// ```swift
/// let connection = ClosureConnection { request in
///     Response(status: .ok, body: Body("You asked for \(request.head.path ?? "/")"))
/// }
/// ```
///
/// If the closure does not call ``Request/reportSending(showingClientCertificate:)``, no layer shares or stores its responses
/// for a request without a ``RequestOptions/principal``.
public struct ClosureConnection: Connection {
    private let name: String
    private let branches: [Layer.Branch]?
    private let answer: @Sendable (consuming Request) async throws -> Response

    /// Creates a connection that answers with the response of a closure.
    ///
    /// - Parameters:
    ///   - name: The name of the layer in ``Connection/layers``.
    ///   - branches: The connections to which the closure sends, from which it may choose; without them, the closure
    ///     is unknown to the check of the stack (``Connection/findings``).
    ///   - answer: Answers a request.
    public init(
        named name: String = "ClosureConnection",
        choosingFrom branches: [Layer.Branch]? = nil,
        _ answer: @escaping @Sendable (consuming Request) async throws -> Response
    ) {
        (self.name, self.branches, self.answer) = (name, branches, answer)
    }

    /// One layer with the name that was given.
    public var layers: [Layer] {
        [Layer(name: name, role: .transport, sending: .init(branches: branches ?? []), isDeclared: branches != nil)]
    }

    /// Returns the response of the closure.
    public func send(_ request: consuming Request) async throws -> Response {
        try await answer(request)
    }
}

extension Connection {
    /// Passes each request through a closure, which may change it, forward it any number of times, and change the
    /// answer.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .intercepting("timing") { request, base in
    ///         let start = ContinuousClock.now
    ///         var response = try await base.send(request)
    ///         response.head.headerFields[.init("X-Elapsed")!] = "\(ContinuousClock.now - start)"
    ///         return response
    ///     }
    /// ```
    ///
    /// If you use a closure more than once, write a ``ComposedConnection`` instead.
    ///
    /// - Parameters:
    ///   - name: The name of the layer in ``Connection/layers``.
    ///   - facts: The effects of the closure that other layers have to know; ``Layer/Fact/addsCredentials`` prevents
    ///     layers further out from sharing responses. Without the argument, even an empty set, the closure is unknown to the
    ///     check of the stack (``Connection/findings``).
    ///   - secretFields: The fields with secrets that the closure sets. Each request carries their names to the layers
    ///     further in, so that a redirection drops them and a log does not show them.
    ///   - interceptor: Takes the request and the wrapped connection, and returns the response.
    /// - Returns: A connection that answers with the response of the closure.
    public func intercepting(
        _ name: String = "intercepting",
        facts: Set<Layer.Fact>? = nil,
        secretFields: Set<HTTPField.Name> = [],
        _ interceptor: @escaping @Sendable (_ request: consuming Request, _ base: Self) async throws -> Response
    ) -> some Connection {
        InterceptingConnection(
            base: self,
            layer: Layer(
                name: name, facts: (facts ?? []).union(secretFields.isEmpty ? [] : [.addsCredentials]),
                secretFields: secretFields, isDeclared: facts != nil),
            interceptor: interceptor)
    }
}

struct InterceptingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let layer: Layer
    let interceptor: @Sendable (consuming Request, Base) async throws -> Response
    private let declaresSecrets: Bool

    init(
        base: Base, layer: Layer, interceptor: @escaping @Sendable (consuming Request, Base) async throws -> Response
    ) {
        self.base = base
        self.layer = layer
        self.interceptor = interceptor
        declaresSecrets = !layer.secretFields.isEmpty
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if declaresSecrets { request.options.declareSecret(layer.secretFields) }
        return try await interceptor(request, base)
    }
}
