/// The media types of text, recognized by parts of their names.
enum TextType {
    private static let parts = ["text/", "json", "xml", "urlencoded", "javascript", "graphql", "yaml"]

    static func includes(_ type: String) -> Bool {
        let type = type.lowercased()
        return parts.contains { type.contains($0) }
    }
}
