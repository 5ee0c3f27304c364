public import HTTPTypes

extension Connection {
    /// Sets fields on each request in place of those of the same name that it has.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .overridingFields(with: [.accept: "application/json"])
    /// ```
    ///
    /// All values that a request has under a name are replaced by all that are given here, in order; names compare in
    /// any letter case. Fields of other names stay as they are. Where two such layers name the same field, the
    /// inner one decides, since it sees the request last.
    ///
    /// A value with a line break or another control character does not get this far: `HTTPField` puts blanks in
    /// its place. The fields go to every origin; secrets belong to ``authenticating(with:for:_:)``.
    ///
    /// It belongs outside of everything that reads the fields: caching, redirects, retries, signing.
    ///
    /// - Parameter fields: The fields to set.
    /// - Returns: A connection that sets the fields.
    public func overridingFields(with fields: HTTPFields) -> some Connection {
        OverridingFieldsConnection(base: self, source: .fixed(fields))
    }

    /// Sets fields that a closure makes for each request in place of those of the same name that it has.
    ///
    /// The rules are those of ``overridingFields(with:)-(HTTPFields)``.
    ///
    /// - Parameters:
    ///   - secretFields: Those of the fields that hold credentials, so that layers further out share no response.
    ///   - fields: Returns the fields to set on a request, or throws, so that nothing is sent.
    /// - Returns: A connection that sets the fields.
    public func overridingFields(
        secretFields: Set<HTTPField.Name> = [],
        with fields: @escaping @Sendable (_ request: Request) async throws -> HTTPFields
    ) -> some Connection {
        OverridingFieldsConnection(base: self, source: .computed(fields, secretFields: secretFields))
    }
}

struct OverridingFieldsConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let layer: Layer
    let source: FieldSource
    private let declaresSecrets: Bool

    init(base: Base, source: FieldSource) {
        self.base = base
        self.source = source
        layer = Layer(
            name: "overridingFields", role: .preparation, settings: [source.setting], facts: source.facts,
            secretFields: source.secretFields)
        declaresSecrets = !layer.secretFields.isEmpty
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if declaresSecrets { request.options.declareSecret(layer.secretFields) }
        switch source {
        case .fixed(let fields): request.head.headerFields.override(with: fields)
        case .computed(let compute, _): request.head.headerFields.override(with: try await compute(request))
        }
        return try await base.send(request)
    }
}
