import HTTPTypes

/// The names in `Vary`: the request fields that selected this response (RFC 9110, section 12.5.5).
struct Vary: Sendable, Equatable {
    /// Whether `Vary` is `*`: any part of the request may have selected the response, so that no other request matches.
    private(set) var isAny = false
    private(set) var names: Set<HTTPField.Name> = []

    init(_ fields: HTTPFields) {
        guard fields.has(.vary) else { return }
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
