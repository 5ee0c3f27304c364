import HTTPTypes

/// The parts that two requests have to share to get one response: all parts by which the server could distinguish them.
struct FlightKey: Sendable, Hashable {
    let authority: String?
    private let resource: ResponseKey
    private let fragment: String?
    private let fields: HTTPFields

    /// Creates the key of a request; nil for a request without an origin.
    init?(_ request: borrowing Request, ignoring ignoredFields: FieldNames) {
        guard let resource = ResponseKey(request) else { return nil }
        self.resource = resource
        authority = request.head.authority
        // The metadata of the response has the URL with its fragment.
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
        // A cookie may name the user, so it is never ignored.
        let isIgnored = { (name: HTTPField.Name) in names.contains(name) && name != .cookie }
        guard contains(where: { isIgnored($0.name) }) else { return self }
        return HTTPFields(filter { !isIgnored($0.name) })
    }

    /// Whether both have the same values of each name, in any order of the names (RFC 9110, section 5.3).
    fileprivate func hasSame(as other: HTTPFields) -> Bool {
        guard count == other.count else { return false }
        return elementsEqual(other) || allSatisfy { hasSame($0.name, as: other) }
    }
}
