public import HTTPTypes

extension Connection {
    /// Adds a random identifier to each request, so that you can find the request in the logs of a server.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying()
    ///     .addingRequestID()
    /// // X-Request-ID: 8e03978e-40d5-43dd-bc93-6894a57f9324
    /// ```
    ///
    /// The identifier is ``RequestOptions/requestID``, or a random UUID, to which the option is set for the layers further
    /// in. Set it yourself to know the identifier of a call that fails. A request that has the field passes unchanged.
    ///
    /// Outside of retries and redirects, all requests of a call have one identifier; inside, each has its own. Outside of a
    /// cache and of `coalescing`, the identifier does not keep calls apart.
    ///
    /// - Parameters:
    ///   - name: The name of the field; nil for `X-Request-ID`.
    ///   - generator: The source of the random bits.
    /// - Returns: A connection that adds the field.
    public func addingRequestID(
        as name: HTTPField.Name? = nil, generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        RequestIDConnection(base: self, name: name ?? .requestID, generator: generator)
    }
}

extension RequestOptions {
    /// The identifier of the request that ``Connection/addingRequestID(as:generator:)`` sends; nil for a random one.
    public var requestID: String? {
        get { self[RequestIDKey.self] }
        set { self[RequestIDKey.self] = newValue }
    }
}

private enum RequestIDKey: CallOptionKey { static let defaultValue: String? = nil }

struct RequestIDConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let name: HTTPField.Name
    let generator: any RandomGenerator

    var layer: Layer {
        Layer(
            name: "addingRequestID", role: .preparation, settings: [.init("as", name.rawName)],
            facts: [.changesSignedParts, .variesPerSend, .identifiesCalls])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if !request.head.headerFields.contains(name) {
            let id = request.options.requestID ?? generator.uuidText()
            request.options.requestID = id
            request.head.headerFields[name] = id
        }
        return try await base.send(request)
    }
}

extension HTTPField.Name {
    // A name without characters that a name cannot have.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let requestID = HTTPField.Name("X-Request-ID")!
}
