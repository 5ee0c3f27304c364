public import HTTPTypes

extension Connection {
    /// Sets fields on each request and removes its other fields of the same names.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .overridingFields(with: [.accept: "application/json"])
    /// ```
    ///
    /// All values that a request has under a name are replaced by all values that are given here, in order; names are
    /// compared in any letter case. Fields of other names stay as they are. If two such layers name the same field, the
    /// inner layer decides, since it gets the request last.
    ///
    /// A value never holds a line break or another control character: `HTTPField` replaces it by a blank. The fields
    /// are sent to every origin, so add secrets with ``authenticating(with:for:_:)`` instead.
    ///
    /// Place it outside of everything that reads the fields: caching, redirects, retries, signing.
    ///
    /// - Parameter fields: The fields to set.
    /// - Returns: A connection that sets the fields.
    public func overridingFields(with fields: HTTPFields) -> some Connection {
        OverridingFieldsConnection(base: self, source: .fixed(fields))
    }

    /// Sets fields that a closure returns on each request and removes its other fields of the same names.
    ///
    /// The rules are those of ``overridingFields(with:)-(HTTPFields)``.
    ///
    /// - Parameters:
    ///   - secretFields: The names of the fields that hold credentials, so that layers further out share no response; empty
    ///     where none does. Without it, the layer is unknown to the check of the stack (``Connection/findings``).
    ///   - fields: Returns the fields to set on a request; if it throws, nothing is sent.
    /// - Returns: A connection that sets the fields.
    public func overridingFields(
        secretFields: Set<HTTPField.Name>? = nil,
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
