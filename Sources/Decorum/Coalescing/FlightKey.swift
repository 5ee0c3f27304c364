import HTTPTypes

/// What two requests have in common that may share a response: all that the server could tell them apart by.
struct FlightKey: Sendable, Hashable {
    let authority: String?
    private let resource: ResponseKey
    private let fragment: String?
    private let fields: HTTPFields

    /// Creates the key of a request; nil is returned for one without an origin.
    init?(_ request: borrowing Request, ignoring ignoredFields: FieldNames) {
        guard let resource = ResponseKey(request) else { return nil }
        self.resource = resource
        authority = request.head.authority
        // The response's metadata tells the URL with its fragment.
        fragment = request.options.fragment
        fields = request.head.headerFields.without(ignoredFields)
    }

    static func == (lhs: FlightKey, rhs: FlightKey) -> Bool {
        lhs.resource == rhs.resource && lhs.fragment == rhs.fragment && lhs.fields.hasSame(as: rhs.fields)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(resource)
    }
}

extension HTTPFields {
    fileprivate func without(_ names: FieldNames) -> HTTPFields {
        guard contains(where: { names.contains($0.name) }) else { return self }
        return HTTPFields(filter { !names.contains($0.name) })
    }

    /// Whether both have the same values of each name, in any order of the names (RFC 9110, section 5.3).
    fileprivate func hasSame(as other: HTTPFields) -> Bool {
        guard count == other.count else { return false }
        return elementsEqual(other) || allSatisfy { hasSame($0.name, as: other) }
    }
}
