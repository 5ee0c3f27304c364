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

/// A media type that a caller can read, and how much it is preferred (RFC 9110, section 12.5.1).
///
/// ```swift
/// let export = Endpoint<Data>.get("report").accepting("text/csv", MediaRange("text/*", quality: 0.5))
/// // Accept: text/csv, text/*;q=0.5
/// ```
public struct MediaRange: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The type with its parameters, as in `application/json`, `text/*` or `application/vnd.github+json;version=3`.
    public let type: String
    /// The preference in thousandths, from 0 for refused to 1000.
    private let thousandths: Int

    /// Creates a range.
    ///
    /// - Parameters:
    ///   - type: The type with its parameters, or `*/*`.
    ///   - quality: The preference from 0 to 1, which is rounded to three digits; 0 refuses the type.
    public init(_ type: String, quality: Double = 1) {
        self.type = type
        thousandths = quality.isNaN ? 0 : Int((min(1, max(0, quality)) * 1000).rounded())
    }

    /// Creates a range that is preferred to all others.
    ///
    /// - Parameter value: The type with its parameters.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The range as the field has it.
    public var fieldText: String {
        guard thousandths < 1000 else { return type }
        var digits = String(1000 + thousandths).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(type);q=0" + (digits.isEmpty ? "" : ".\(digits)")
    }
}
