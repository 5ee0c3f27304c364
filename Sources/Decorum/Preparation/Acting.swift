extension Connection {
    /// Makes each request on behalf of a user, unless the request names another.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .authenticating(with: .bearer(token), for: api)
    ///     .caching(in: responses)
    ///     .acting(for: Principal("user-42"))
    /// ```
    ///
    /// Without a principal, nothing is stored or shared outside of a layer that adds credentials. A request whose
    /// ``RequestOptions/principal`` is set keeps it. Nothing is sent: the principal separates stored and shared responses,
    /// and does not identify the user to a server. A stack for several users applies this layer once for each of them, to
    /// the stack that they share.
    ///
    /// Place it outside of all layers that store or share responses, such as `caching`, `revalidating` and `coalescing`:
    /// a layer that stands further out stores and shares nothing.
    ///
    /// - Parameter principal: The user; after a sign-out, compose a stack without it.
    /// - Returns: A connection whose requests have a principal.
    public func acting(for principal: Principal) -> some Connection {
        ActingConnection(base: self, principal: principal)
    }
}

struct ActingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let principal: Principal

    var layer: Layer {
        Layer(name: "acting", role: .preparation, settings: [.init("for", principal)], facts: [.setsPrincipal])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if request.options.principal == nil { request.options.principal = principal }
        return try await base.send(request)
    }
}
