import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111, section 5.2).
struct CacheControl: Sendable, Equatable {
    private var names: [String] = []

    /// Reads the directives of a message; what cannot be understood is passed over.
    init(_ fields: HTTPFields) {
        guard fields.contains(.cacheControl) else { return }
        for field in fields where field.name == .cacheControl {
            for member in ListMembers(field.value) {
                names.append(Substring(member.utf8.prefix { $0 != UInt8(ascii: "=") }).inLowerCase)
            }
        }
    }

    /// Whether a directive is there, with or without an argument.
    func contains(_ name: String) -> Bool {
        names.contains(name)
    }
}
