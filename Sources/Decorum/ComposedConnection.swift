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

    /// This layer, followed by those of ``ComposedConnection/base``.
    public var layers: [Layer] {
        [layer] + base.layers
    }
}
