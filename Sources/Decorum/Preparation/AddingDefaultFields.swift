public import HTTPTypes

extension Connection {
    /// Adds fields to each request that has none of the same name.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .addingDefaultFields([.accept: "application/json", .acceptEncoding: "gzip"])
    /// ```
    ///
    /// A request's own fields stay as they are, names compared in any letter case. A name that is given several times
    /// is added as often, in order, behind the request's own fields. Where two such layers name the same field, the
    /// outer one decides, since the inner one finds the field set.
    ///
    /// A value with a line break or another control character does not get this far: `HTTPField` puts blanks in
    /// its place. The fields go to every origin; secrets belong to ``authenticating(with:for:_:)``.
    ///
    /// It belongs outside of everything that reads the fields: caching, redirects, retries, signing.
    ///
    /// - Parameter fields: The fields to add.
    /// - Returns: A connection that adds the fields.
    public func addingDefaultFields(_ fields: HTTPFields) -> some Connection {
        DefaultFieldsConnection(base: self, name: "addingDefaultFields", source: .fixed(fields))
    }

    /// Adds fields that a closure makes for each request that has none of the same name.
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
    ///   - secretFields: Those of the fields that hold credentials, so that layers further out share no response.
    ///   - fields: Returns the fields to add to a request, or throws, so that nothing is sent.
    /// - Returns: A connection that adds the fields.
    public func addingDefaultFields(
        secretFields: Set<HTTPField.Name> = [],
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
