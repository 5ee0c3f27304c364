/// A connection of any type, for places where one type is needed.
///
/// `any Connection` works everywhere too. This type costs less for a deep stack: it wraps the stack's `send` in one
/// closure that is specialised for the concrete type, where an existential looks up each layer at run time.
public struct AnyConnection: Connection {
    @usableFromInline let sending: @Sendable (consuming Request) async throws -> Response

    /// The layers of the wrapped connection.
    public let layers: [Layer]

    /// Wraps a connection.
    ///
    /// - Parameter connection: The connection to send with.
    @inlinable public init(_ connection: some Connection) {
        layers = connection.layers
        sending = { request in try await connection.send(request) }
    }

    /// Sends a request through the wrapped connection.
    @inlinable public func send(_ request: consuming Request) async throws -> Response {
        try await sending(request)
    }
}
