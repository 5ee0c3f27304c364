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
/// State that outlives a request, such as a counter or a store, belongs into a type of its own that the decorator
/// holds: a decorator is a value, and one stack serves many requests at the same time.
///
/// Behind `any Connection`, each `send` costs two frames of asynchronous calls. One that is marked `@inline(__always)`,
/// as those of Decorum's own layers are, costs one.
public protocol ComposedConnection: Connection {
    /// The connection that this one wraps.
    associatedtype Base: Connection

    /// The wrapped connection, which sends what this one forwards.
    var base: Base { get }

    /// What this layer is, for ``Connection/layers``.
    var layer: Layer { get }
}

extension ComposedConnection {
    /// A layer named for the type, which claims nothing about itself.
    public var layer: Layer {
        Layer(describing: Self.self)
    }

    /// This layer, followed by those of ``ComposedConnection/base``.
    public var layers: [Layer] {
        [layer] + base.layers
    }
}
