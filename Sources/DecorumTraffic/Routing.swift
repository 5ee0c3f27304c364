public import Decorum

extension Connection {
    /// Sends the requests of a group through a connection of its own, and all others through this one.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .routing(byGroup: ["uploads": URLSessionConnection(connectionsPerHost: 1)])
    /// ```
    ///
    /// The option `group` names the group.
    public func routing(byGroup connections: [RequestGroup: any Connection]) -> some Connection {
        routing(by: { $0.options.group }, to: connections)
    }

    /// Sends each request through the connection that a closure chooses.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .routing(by: { $0.head.method == .get ? "replica" : nil }, to: ["replica": replica])
    /// ```
    ///
    /// The layers of all connections are branches of this one, so that the check of the stack covers them.
    ///
    /// Place it inside of the layers that all requests share, and outside of those of one route. It does not change the
    /// request, so that credentials further out go to each of the connections.
    ///
    /// - Parameters:
    ///   - route: Returns the name of the route of a request; nil, or a name without a connection, for this connection.
    ///   - connections: The connections by the names of their routes.
    /// - Returns: A connection that sends each request through one of them.
    public func routing<Route: Hashable & Sendable>(
        by route: @escaping @Sendable (_ request: borrowing Request) -> Route?, to connections: [Route: any Connection]
    ) -> some Connection {
        let branches = connections.map { Layer.Branch("\($0.key)", $0.value.layers) }.sorted { $0.name < $1.name }
        return RoutingConnection(
            base: self, route: route, connections: connections,
            layer: Layer(name: "routing", role: .preparation, sending: .init(1...1, branches: branches)))
    }
}

struct RoutingConnection<Base: Connection, Route: Hashable & Sendable>: ComposedConnection {
    let base: Base
    let route: @Sendable (borrowing Request) -> Route?
    let connections: [Route: any Connection]
    let layer: Layer

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard let route = route(request), let connection = connections[route] else {
            return try await base.send(request)
        }
        request.options.callContext?.note(CallDecision(.routes, by: "routing", "takes the route \(route)"))
        return try await connection.send(request)
    }
}

extension CallDecision.Kind {
    /// The layer sends the request through one of several connections.
    public static let routes = CallDecision.Kind("routes")
}
