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
    /// The fields are sent to every origin, so add secrets with ``authenticating(with:for:_:)`` instead, and an
    /// `Accept-Encoding` with ``decompressing(_:)``, which decodes too. Place it outside of everything that reads the fields:
    /// caching, redirects, retries, signing.
    ///
    /// - Parameter fields: The fields to add.
    /// - Returns: A connection that adds the fields.
    public func addingDefaultFields(_ fields: HTTPFields) -> some Connection {
        FieldsConnection(base: self, name: "addingDefaultFields", source: .fixed(fields))
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
    /// The rules are the same as for ``addingDefaultFields(_:)-(HTTPFields)``.
    ///
    /// - Parameters:
    ///   - secretFields: The names of the fields that hold credentials, so that layers further out share no response. Without
    ///     it, the layer is unknown to the check of the stack (``Connection/findings``).
    ///   - fields: Returns the fields to add to a request; if it throws, nothing is sent.
    /// - Returns: A connection that adds the fields.
    public func addingDefaultFields(
        secretFields: Set<HTTPField.Name>? = nil,
        _ fields: @escaping @Sendable (_ request: Request) async throws -> HTTPFields
    ) -> some Connection {
        FieldsConnection(
            base: self, name: "addingDefaultFields", source: .computed(fields, secretFields: secretFields))
    }

    /// Sets fields on each request and removes its other fields of the same names.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .overridingFields(with: [.accept: "application/json"])
    /// ```
    ///
    /// All values that a request has under a name are replaced by all values that are given here, in order; names are
    /// compared in any letter case. If two such layers name the same field, the inner layer decides, since it gets the
    /// request last. The fields are sent to every origin, so add secrets with ``authenticating(with:for:_:)`` instead, and
    /// place it as ``addingDefaultFields(_:)-(HTTPFields)``.
    ///
    /// - Parameter fields: The fields to set.
    /// - Returns: A connection that sets the fields.
    public func overridingFields(with fields: HTTPFields) -> some Connection {
        FieldsConnection(base: self, name: "overridingFields", keeps: false, source: .fixed(fields))
    }

    /// Sets fields that a closure returns on each request and removes its other fields of the same names.
    ///
    /// The rules are the same as for ``overridingFields(with:)-(HTTPFields)``.
    ///
    /// - Parameters:
    ///   - secretFields: The names of the fields that hold credentials, as for default fields.
    ///   - fields: Returns the fields to set on a request; if it throws, nothing is sent.
    /// - Returns: A connection that sets the fields.
    public func overridingFields(
        secretFields: Set<HTTPField.Name>? = nil,
        with fields: @escaping @Sendable (_ request: Request) async throws -> HTTPFields
    ) -> some Connection {
        FieldsConnection(
            base: self, name: "overridingFields", keeps: false, source: .computed(fields, secretFields: secretFields))
    }
}

/// Sets fields, of which a request keeps its own or loses them.
struct FieldsConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let layer: Layer
    private let keeps: Bool
    private let source: FieldSource
    private let secretFields: Set<HTTPField.Name>
    /// The connection behind the layers whose fields this one adds too.
    private let further: any Connection

    init(
        base: Base, name: String, settings: [Layer.Setting]? = nil, keeps: Bool = true, source: FieldSource,
        furtherSecretFields: Set<HTTPField.Name> = []
    ) {
        (self.base, self.keeps) = (base, keeps)
        layer = Layer(
            name: name, role: .preparation, settings: settings ?? [source.setting], facts: source.facts,
            secretFields: source.secretFields.union(furtherSecretFields))
        if keeps, case .fixed(var fields) = source, let inner = (base as? any FixedDefaults)?.defaults {
            fields.add(defaults: inner.fields)
            self.source = .fixed(fields)
            (secretFields, further) = (layer.secretFields.union(inner.secretFields), inner.further)
        } else {
            (self.source, secretFields, further) = (source, layer.secretFields, base)
        }
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if !secretFields.isEmpty { request.options.declareSecret(secretFields) }
        switch (source, keeps) {
        case (.fixed(let fields), true): request.head.headerFields.add(defaults: fields)
        case (.fixed(let fields), false): request.head.headerFields.override(with: fields)
        case (.computed(let compute, _), true): request.head.headerFields.add(defaults: try await compute(request))
        case (.computed(let compute, _), false): request.head.headerFields.override(with: try await compute(request))
        }
        return try await further.send(request)
    }
}

/// A layer whose fields the next layer of default fields adds in its place, since to copy the fields of a request takes long.
private protocol FixedDefaults {
    typealias Defaults = (fields: HTTPFields, secretFields: Set<HTTPField.Name>, further: any Connection)
    var defaults: Defaults? { get }
}

extension FieldsConnection: FixedDefaults {
    fileprivate var defaults: Defaults? {
        guard keeps, case .fixed(let fields) = source else { return nil }
        return (fields, secretFields, further)
    }
}

/// Fields that are the same for every request, or that a closure computes from the request.
enum FieldSource: Sendable {
    case fixed(HTTPFields)
    /// The names of the fields that hold credentials are nil if they are unknown.
    case computed(@Sendable (_ request: Request) async throws -> HTTPFields, secretFields: Set<HTTPField.Name>?)

    /// The fields that hold credentials.
    var secretFields: Set<HTTPField.Name> {
        switch self {
        case .fixed(let fields): Set(fields.filter { Redaction.standard.isSecret($0, secretFields: []) }.map(\.name))
        case .computed(_, let secretFields): secretFields ?? []
        }
    }

    /// The facts of a layer that sets the fields.
    var facts: Set<Layer.Fact> {
        var facts: Set<Layer.Fact> = [.changesSignedParts]
        if !secretFields.isEmpty { facts.insert(.addsCredentials) }
        if case .computed(_, let declared) = self {
            facts.insert(.variesPerSend)
            if declared == nil { facts.insert(.mayAddCredentials) }
            if !secretFields.isEmpty { facts.insert(.changesUsers) }
        }
        return facts
    }

    /// The names of the fields, without their values, which may be private.
    var setting: Layer.Setting {
        switch self {
        case .fixed(let fields): Layer.Setting("fields", fields.map(\.name.rawName).joined(separator: ", "))
        case .computed: Layer.Setting("fields", "computed")
        }
    }
}

extension FieldSource: SecretHolder {
    var description: String { setting.value }
}
