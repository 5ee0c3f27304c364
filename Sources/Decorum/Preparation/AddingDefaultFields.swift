public import HTTPTypes

extension Connection {
    /// Adds fields to each request that does not have fields of the same names.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .addingDefaultFields([.accept: "application/json", .acceptLanguage: "en"])
    /// ```
    ///
    /// The fields of a request stay as they are; names are compared in any letter case. A name that is given several
    /// times is added as often, in order, after the fields of the request. If two such layers name the same field, the
    /// outer layer decides, since the inner layer finds the field set.
    ///
    /// A value never holds a line break or another control character: `HTTPField` replaces it by a blank. The fields
    /// are sent to every origin, so add secrets with ``authenticating(with:for:_:)`` instead.
    ///
    /// An `Accept-Encoding` asks for content that somebody has to decode: ``decompressing(_:)`` sets it and decodes.
    ///
    /// Place it outside of everything that reads the fields: caching, redirects, retries, signing.
    ///
    /// - Parameter fields: The fields to add.
    /// - Returns: A connection that adds the fields.
    public func addingDefaultFields(_ fields: HTTPFields) -> some Connection {
        DefaultFieldsConnection(base: self, name: "addingDefaultFields", source: .fixed(fields))
    }

    /// Adds fields that a closure returns to each request that does not have fields of the same names.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .addingDefaultFields { request in
    ///         request.head.method == .post ? [.contentType: "application/json"] : [:]
    ///     }
    /// ```
    ///
    /// The rules are those of ``addingDefaultFields(_:)-(HTTPFields)``.
    ///
    /// - Parameters:
    ///   - secretFields: The names of the fields that hold credentials, so that layers further out share no response; empty
    ///     where none does. Without it, the layer is unknown to the check of the stack (``Connection/findings``).
    ///   - fields: Returns the fields to add to a request; if it throws, nothing is sent.
    /// - Returns: A connection that adds the fields.
    public func addingDefaultFields(
        secretFields: Set<HTTPField.Name>? = nil,
        _ fields: @escaping @Sendable (_ request: Request) async throws -> HTTPFields
    ) -> some Connection {
        DefaultFieldsConnection(
            base: self, name: "addingDefaultFields", source: .computed(fields, secretFields: secretFields))
    }
}

struct DefaultFieldsConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let layer: Layer
    let source: FieldSource
    private let declaresSecrets: Bool

    init(base: Base, name: String, settings: [Layer.Setting]? = nil, source: FieldSource) {
        self.base = base
        self.source = source
        layer = Layer(
            name: name, role: .preparation, settings: settings ?? [source.setting], facts: source.facts,
            secretFields: source.secretFields)
        declaresSecrets = !layer.secretFields.isEmpty
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if declaresSecrets { request.options.declareSecret(layer.secretFields) }
        switch source {
        case .fixed(let fields): request.head.headerFields.add(defaults: fields)
        case .computed(let compute, _): request.head.headerFields.add(defaults: try await compute(request))
        }
        return try await base.send(request)
    }
}
