import HTTPTypes

extension Connection {
    /// Adds items to the query of each request that has no items of the same names.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .addingDefaultQueryItems([QueryItem("api-version", "2026-05-01"), QueryItem("format", "json")])
    /// // GET /items?page=2&api-version=2026-05-01&format=json
    /// ```
    ///
    /// The query of a request stays as it is written; names are compared decoded, in their letter case. The items follow it in
    /// their order, encoded as by ``PercentCoding/encode(_:)``. The target `*` of `OPTIONS` gets none.
    ///
    /// The items are sent to every origin, so add a key with ``authenticating(with:for:_:)`` and
    /// ``Credentials/queryItem(_:_:)`` instead. Place it as ``addingDefaultFields(_:)-(HTTPFields)``.
    ///
    /// - Parameter items: The items to add.
    /// - Returns: A connection that adds the items.
    public func addingDefaultQueryItems(_ items: [QueryItem]) -> some Connection {
        QueryItemsConnection(base: self, items: items)
    }
}

struct QueryItemsConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let items: [QueryItem]
    private let written: [(name: String, text: String)]
    private let secretNames: Set<String>

    init(base: Base, items: [QueryItem]) {
        (self.base, self.items, written) = (base, items, items.map { ($0.name, $0.text) })
        secretNames = Set(items.map(\.name).filter(Redaction.standard.queryItems.contains))
    }

    var layer: Layer {
        var facts: Set<Layer.Fact> = [.changesSignedParts]
        if !secretNames.isEmpty { facts.insert(.addsCredentials) }
        return Layer(
            name: "addingDefaultQueryItems", role: .preparation,
            settings: [Layer.Setting("names", items.map(\.name).joined(separator: ", "))], facts: facts)
    }

    func send(_ request: consuming Request) async throws -> Response {
        if !secretNames.isEmpty { request.options.secretQueryItems.formUnion(secretNames) }
        request.head.path = request.head.path.map { $0.adding(defaults: written) }
        return try await base.send(request)
    }
}
