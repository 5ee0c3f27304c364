/// A connection of any type, for places where one type is needed.
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
