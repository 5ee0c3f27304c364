/// A text that is valid, and the one canonical text of its value.
struct CanonicalFieldRow: Decodable, Sendable {
    let text: String
    let canonical: String
}

/// A text that is invalid, and the offset of its first invalid byte.
struct InvalidFieldRow: Decodable, Sendable {
    let text: String
    let offset: Int
}
