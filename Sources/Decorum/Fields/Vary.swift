import HTTPTypes

/// The names in `Vary`: which request fields chose this response among others (RFC 9110, section 12.5.5).
struct Vary: Sendable, Equatable {
    /// Whether anything may have had an influence, so that no other request can be known to get the same.
    private(set) var isAny = false
    private(set) var names: Set<HTTPField.Name> = []

    init(_ fields: HTTPFields) {
        guard fields.contains(.vary) else { return }
        for field in fields where field.name == .vary {
            for member in ListMembers(field.value) {
                if let name = HTTPField.Name(String(member)), member != "*" {
                    names.insert(name)
                } else {
                    isAny = true
                }
            }
        }
    }
}
