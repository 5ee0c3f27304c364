import HTTPTypes

extension Connection {
    /// Asks a closure for the server of each request, such as a test server, or the nearest one of several.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .decidingOrigin { request in
    ///         request.head.path?.hasPrefix("/media/") == true ? nearestMirror() : nil
    ///     }
    ///     .followingRedirects()
    /// ```
    ///
    /// The closure is asked for the first request of a call, for each attempt and for each hop of a redirection, unless the
    /// request has ``RequestOptions/keepsOrigin``. To refuse a request, throw an error, such as a ``HostPolicyError``.
    ///
    /// Place it as ``restrictingHosts(to:)``, which suits rules that are known beforehand, and outside of it, so that the policy
    /// sees the server that is chosen. Credentials further in belong to that server.
    ///
    /// - Parameters:
    ///   - keepingHost: Whether the request names its former server in `Host`, unless it has such a field; by default it does
    ///     not. Servers of HTTP/2 and 3 may refuse two different names.
    ///   - decide: Returns the server for a request; nil to keep the one that it has.
    /// - Returns: A connection that throws the errors of the closure, and ``InvalidRequestError`` for a request that names no
    ///   origin.
    public func decidingOrigin(
        keepingHost: Bool = false, _ decide: @escaping @Sendable (_ request: Request) async throws -> Origin?
    ) -> some Connection {
        OriginDecidingConnection(base: self, keepsHost: keepingHost, decide: decide)
    }
}

extension RequestOptions {
    /// Whether the request goes to the origin that it names, without a question to
    /// ``Connection/decidingOrigin(keepingHost:_:)``; the default is false.
    public var keepsOrigin: Bool {
        get { self[KeepsOriginKey.self] }
        set { self[KeepsOriginKey.self] = newValue }
    }
}

private enum KeepsOriginKey: RequestOptionKey {
    static let travels: OptionTravel = [.all, .comparedWhenShared]
    static let defaultValue = false
}

struct OriginDecidingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let keepsHost: Bool
    let decide: @Sendable (Request) async throws -> Origin?

    var layer: Layer {
        Layer(
            name: "decidingOrigin", role: .hostPolicy, settings: keepsHost ? [.init("keepingHost", true)] : [],
            facts: [.changesSignedParts, .variesPerSend], time: .init(waiting: .unbounded))
    }

    func send(_ request: consuming Request) async throws -> Response {
        guard !request.options.keepsOrigin, let target = try await decide(copy request) else {
            return try await base.send(request)
        }
        let origin = try Origin(request.head)
        guard target != origin else { return try await base.send(request) }
        let host = request.head.authority
        request.move(from: origin, to: target, by: layer.name)
        if keepsHost, let host, let field = HTTPField.Name("Host"), !request.head.headerFields.has(field) {
            request.head.headerFields[field] = host
        }
        return try await base.send(request)
    }
}
