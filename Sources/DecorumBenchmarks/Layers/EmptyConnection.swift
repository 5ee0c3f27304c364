import Decorum

/// A layer that does nothing, as code outside of Decorum writes it.
struct EmptyConnection<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

/// A layer that does nothing, inlined as Decorum's own layers are.
struct InlinedEmptyConnection<Base: Connection>: ComposedConnection {
    let base: Base

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

/// A layer that does nothing, over a connection whose type is not known.
struct ErasedEmptyConnection: Connection {
    let base: any Connection

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

/// Five layers that do nothing.
typealias FiveEmpty<Base: Connection> = EmptyConnection<
    EmptyConnection<EmptyConnection<EmptyConnection<EmptyConnection<Base>>>>
>

extension Connection {
    /// One layer that does nothing, with its type known.
    func passing() -> EmptyConnection<Self> { EmptyConnection(base: self) }

    /// Five layers that do nothing, with their types known.
    func passingFive() -> FiveEmpty<Self> { passing().passing().passing().passing().passing() }
}

/// Layers that do nothing, composed in a loop that the compiler cannot see through, so that their types are unknown.
@inline(never) func passing(_ depth: Int, over base: any Connection) -> any Connection {
    var connection = base
    for _ in 0..<depth { connection = ErasedEmptyConnection(base: connection) }
    return connection
}

/// Layers that do nothing, each wrapped in an ``AnyConnection``.
@inline(never) func wrapping(_ depth: Int, over base: AnyConnection) -> AnyConnection {
    var connection = base
    for _ in 0..<depth { connection = AnyConnection(connection.passing()) }
    return connection
}

/// Generic layers that do nothing, composed in a loop, like the layers of an app that adds them conditionally.
@inline(never) func appending(_ depth: Int, to base: any Connection) -> any Connection {
    var connection = base
    for _ in 0..<depth { connection = appended(to: connection) }
    return connection
}

private func appended(to base: some Connection) -> any Connection {
    EmptyConnection(base: base)
}

/// The same with inlined layers.
@inline(never) func appendingInlined(_ depth: Int, to base: any Connection) -> any Connection {
    var connection = base
    for _ in 0..<depth { connection = appendedInlined(to: connection) }
    return connection
}

private func appendedInlined(to base: some Connection) -> any Connection {
    InlinedEmptyConnection(base: base)
}
