import HTTPTypes

/// The parts that two requests have to share to get one response: all parts by which the server could distinguish them,
/// and the options that decide how they are sent and how long their callers wait.
struct SharedRequestKey: Sendable {
    private let resource: ResponseKey
    private let method: HTTPRequest.Method
    private let fragment: String?
    /// The fields of the request, of which some may be ignored.
    private let fields: HTTPFields
    private let ignoredFields: FieldNames
    private let hasIgnored: Bool
    private let wishes: SendingWishes?
    // The tables look at it more than once.
    private let hash: Int

    /// Creates the key of a request whose responses are stored under a key of any method.
    init(_ request: borrowing Request, at resource: ResponseKey, ignoring ignoredFields: FieldNames) {
        self.resource = resource
        method = request.head.method
        // The metadata of the response has the URL with its fragment.
        fragment = request.options.fragment
        fields = request.head.headerFields
        self.ignoredFields = ignoredFields
        let (mixed, hasIgnored) = fields.mixedInAnyOrder(ignoring: ignoredFields)
        self.hasIgnored = hasIgnored
        wishes = SendingWishes.of(request.options)
        // It needs no seed of its own and no part that hardly any two requests differ in: where two hashes are equal, a
        // request is sent that could have been shared, and no harm is done.
        var hash = resource.hashValue ^ Int(truncatingIfNeeded: mixed)
        hash &+= method.rawValue.utf8.count
        if let fragment { hash ^= fragment.hashValue }
        if let idleTimeout = wishes?.idleTimeout { hash ^= idleTimeout.hashValue }
        self.hash = hash
    }
}

extension SharedRequestKey: Hashable {
    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.hash == rhs.hash && lhs.resource == rhs.resource && lhs.method == rhs.method
            && lhs.fragment == rhs.fragment && lhs.wishes == rhs.wishes
            && lhs.tellingFields.hasSame(as: rhs.tellingFields)
    }

    /// The fields that distinguish the request; only equal hashes make them needed.
    private var tellingFields: HTTPFields {
        hasIgnored ? HTTPFields(fields.filter { !ignoredFields.ignores($0.name) }) : fields
    }

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

    /// A number that depends on the values of all fields that are not ignored, in any order, and whether one is ignored.
    fileprivate func mixedInAnyOrder(ignoring names: FieldNames) -> (mixed: UInt64, hasIgnored: Bool) {
        var sum: UInt64 = 0
        var hasIgnored = false
        for index in indices {
            let field = self[index]
            if names.ignores(field.name) {
                hasIgnored = true
            } else {
                sum &+= field.value.mixedBytes &* UInt64(field.name.canonicalName.utf8.count | 1)
            }
        }
        return (sum, hasIgnored)
    }
}

extension FieldNames {
    /// Whether a name is ignored: a cookie may name the user, so it never is.
    fileprivate func ignores(_ name: HTTPField.Name) -> Bool { contains(name) && name != .cookie }
}

extension String {
    /// A number that depends on each byte, in a third of the time of a `Hasher`.
    fileprivate var mixedBytes: UInt64 {
        var text = self
        return text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            var mixed = UInt64(bytes.count)
            var offset = 0
            while offset + 8 <= bytes.count {
                mixed = unsafe (mixed ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)).mixed
                offset += 8
            }
            var rest: UInt64 = 0
            while offset < bytes.count {
                rest = unsafe rest << 8 | UInt64(bytes[offset])
                offset += 1
            }
            return (mixed ^ rest).mixed
        }
    }
}

extension UInt64 {
    /// The number with its bits spread by the golden ratio.
    fileprivate var mixed: UInt64 {
        let product = self &* 0x9E37_79B9_7F4A_7C15
        return product ^ product >> 32
    }
}
