public import HTTPTypes

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
    /// Place it in the stack where its work belongs: see the order on ``Connection``. If you use a closure more than
    /// once, write a ``ComposedConnection`` instead.
    ///
    /// - Parameters:
    ///   - name: The name of the layer in ``Connection/layers``.
    ///   - facts: The effects of the closure that other layers have to know; ``Layer/Fact/addsCredentials`` prevents
    ///     layers further out from sharing responses. Without them the closure is unknown to the check of the stack
    ///     (``Connection/findings``); an empty set says that there are none.
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
