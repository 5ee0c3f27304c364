import HTTPTypes

/// The parts that two requests have to share to get one response: all parts by which the server could distinguish them,
/// and the options that decide how they are sent (``OptionTravel/comparedWhenShared``).
struct SharedRequestKey: Sendable, Hashable {
    private let resource: ResponseKey
    private let method: HTTPRequest.Method
    /// The metadata of the response has the URL with its fragment.
    private let fragment: String?
    /// The fields of the request, of which some may be ignored.
    private let fields: HTTPFields
    private let ignoredFields: FieldNames
    private let options: TypedValues
    // The tables look at it more than once.
    private let hash: Int

    /// Creates the key of a request whose responses are stored under a key of any method.
    init(_ request: borrowing Request, at resource: ResponseKey, ignoring ignoredFields: FieldNames) {
        self.resource = resource
        method = request.head.method
        fragment = request.options.fragment
        fields = request.head.headerFields
        options = request.options.values
        self.ignoredFields = ignoredFields
        // The options and names hardly ever differ between two requests for one resource: where two hashes are equal, a
        // request is sent that could have been shared, and no harm is done.
        var hash = resource.hashValue &+ method.rawValue.utf8.count
        if let fragment { hash ^= fragment.hashValue }
        for index in fields.indices where !ignoredFields.ignores(fields[index].name) {
            hash &+= fields[index].value.hashValue
        }
        self.hash = hash
    }

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.hash == rhs.hash && lhs.resource == rhs.resource && lhs.method == rhs.method
            && lhs.fragment == rhs.fragment && lhs.comparedFields.hasSame(as: rhs.comparedFields)
            && lhs.options.areSame(as: rhs.options, travelling: .comparedWhenShared)
    }

    /// The fields that distinguish the request; only equal hashes make them needed.
    private var comparedFields: HTTPFields { HTTPFields(fields.filter { !ignoredFields.ignores($0.name) }) }

    var hashValue: Int { hash }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

extension HTTPFields {
    /// Whether both have the same values of each name, in any order of the names (RFC 9110, section 5.3).
    fileprivate func hasSame(as other: HTTPFields) -> Bool {
        guard count == other.count else { return false }
        return elementsEqual(other) || allSatisfy { hasSame($0.name, as: other) }
    }
}

extension FieldNames {
    /// Whether a name is ignored: a cookie may name the user, so it never is.
    fileprivate func ignores(_ name: HTTPField.Name) -> Bool { contains(name) && name != .cookie }
}
