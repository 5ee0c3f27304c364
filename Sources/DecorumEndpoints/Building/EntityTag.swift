import Decorum
public import HTTPTypes

/// A validator that tells two versions of a resource apart (RFC 9110, section 8.8.3).
///
/// ```swift
/// guard let tag = EntityTag(response.head.headerFields) else { return }
/// item = try await connection.value(of: .saving(item).ifMatch(tag))
/// ```
public struct EntityTag: Sendable, Hashable {
    /// The text between the quotes, which only the server can read.
    public let opaque: String
    /// Whether two versions with this tag are only equivalent, and need not be equal byte for byte.
    public let isWeak: Bool

    /// Creates a tag from its parts.
    ///
    /// - Parameters:
    ///   - opaque: The text between the quotes; nil is returned where it has a quote, a blank or a control character.
    ///   - isWeak: Whether versions with this tag are only equivalent.
    public init?(_ opaque: String, isWeak: Bool = false) {
        guard opaque.utf8.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }) else { return nil }
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// Reads a tag as a field has it, such as `"a1"` or `W/"a1"`.
    ///
    /// - Parameter text: The value of the field; nil is returned where it is no tag.
    public init?(field text: String) {
        let isWeak = text.hasPrefix("W/")
        let quoted = isWeak ? text.dropFirst(2) : text[...]
        guard quoted.utf8.count >= 2, quoted.first == "\"", quoted.last == "\"" else { return nil }
        self.init(String(quoted.dropFirst().dropLast()), isWeak: isWeak)
    }

    /// Reads the tag of a response.
    ///
    /// - Parameter fields: The fields of the response; nil is returned where they have no valid `ETag`.
    public init?(_ fields: HTTPFields) {
        guard let text = fields[.eTag] else { return nil }
        self.init(field: text)
    }

    /// The tag as a field has it.
    public var fieldText: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }
}

extension EntityTag: CustomStringConvertible {
    /// The tag as a field has it.
    public var description: String { fieldText }
}
