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
