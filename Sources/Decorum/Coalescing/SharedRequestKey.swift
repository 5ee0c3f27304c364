import HTTPTypes

/// The parts that two requests have to share to get one response: all parts by which the server could distinguish them,
/// and the options that decide how they are sent and how long their callers wait.
struct SharedRequestKey: Sendable {
    private let resource: ResponseKey
    private let method: HTTPRequest.Method
    private let fragment: String?
    private let fields: HTTPFields
    private let wishes: SendingWishes?
    // The tables look at it more than once.
    private let hash: Int

    /// Creates the key of a request whose responses are stored under a key of any method.
    init(_ request: borrowing Request, at resource: ResponseKey, ignoring ignoredFields: FieldNames) {
        self.resource = resource
        method = request.head.method
        // The metadata of the response has the URL with its fragment.
        fragment = request.options.fragment
        fields = request.head.headerFields.without(ignoredFields)
        wishes = SendingWishes(request.options)
        var hasher = Hasher()
        hasher.combine(resource)
        hasher.combine(method)
        hasher.combine(fragment)
        hasher.combine(fields.hashInAnyOrder)
        if let idleTimeout = wishes?.idleTimeout { hasher.combine(idleTimeout) }
        hash = hasher.finalize()
    }
}

extension SharedRequestKey: Hashable {
    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.hash == rhs.hash && lhs.resource == rhs.resource && lhs.method == rhs.method
            && lhs.fragment == rhs.fragment && lhs.wishes == rhs.wishes
            && lhs.fields.hasSame(as: rhs.fields)
    }

    var hashValue: Int { hash }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
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

    /// A hash that does not depend on the order of the fields.
    fileprivate var hashInAnyOrder: Int {
        reduce(0) { sum, field in
            var hasher = Hasher()
            hasher.combine(field.name)
            hasher.combine(field.value)
            return sum &+ hasher.finalize()
        }
    }
}
