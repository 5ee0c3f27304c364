public import Foundation

/// A value of a structured field without parameters, called a bare item in RFC 9651, section 3.3.
///
/// A literal stands for an integer, a decimal, a string or a Boolean; a token has to be written `.token("gzip")`, since
/// it differs from the string `"gzip"`.
///
/// Any value can be created; a value that a field cannot hold, such as a token with a blank, causes an error when it is
/// serialized.
public enum StructuredValue: Sendable, Hashable {
    /// A whole number of up to fifteen digits.
    case integer(Int64)
    /// A number with up to three digits after the point.
    case decimal(StructuredDecimal)
    /// Text of printable ASCII characters, written in quotation marks.
    case string(String)
    /// A word, written as it is: a letter or `*`, then the characters of a method or field name, `:` and `/`.
    case token(String)
    /// Bytes, written in base64.
    case byteSequence(Data)
    /// True or false.
    case boolean(Bool)
    /// A point in time; a fraction of a second is cut off.
    case date(Date)
    /// Text of any characters for display to people; it is not sanitized and may hold control characters.
    case displayString(String)
}

extension StructuredValue {
    /// The number of an integer.
    public var integer: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The number of a decimal.
    public var decimal: StructuredDecimal? {
        guard case .decimal(let number) = self else { return nil }
        return number
    }

    /// The text of a string.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The word of a token.
    public var token: String? {
        guard case .token(let word) = self else { return nil }
        return word
    }

    /// The bytes of a byte sequence.
    public var byteSequence: Data? {
        guard case .byteSequence(let bytes) = self else { return nil }
        return bytes
    }

    /// Whether a Boolean is true.
    public var boolean: Bool? {
        guard case .boolean(let isTrue) = self else { return nil }
        return isTrue
    }

    /// The point in time of a date.
    public var date: Date? {
        guard case .date(let date) = self else { return nil }
        return date
    }

    /// The text of a display string.
    public var displayString: String? {
        guard case .displayString(let text) = self else { return nil }
        return text
    }
}

extension StructuredValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByStringLiteral
{
    /// Creates an integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// Creates a decimal.
    public init(floatLiteral value: Double) {
        self = .decimal(StructuredDecimal(value))
    }

    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) {
        self = .boolean(value)
    }

    /// Creates a string, not a token.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

/// A decimal number of a structured field: up to twelve digits, and three after the point.
///
/// ```swift
/// let quality: StructuredDecimal = 0.75
/// let item = StructuredItem(.token("gzip"), parameters: ["q": .decimal(quality)])
/// ```
///
/// See RFC 9651, section 3.3.2.
public struct StructuredDecimal: Sendable, Hashable {
    /// The number times 1000.
    public let thousandths: Int64

    /// Creates a number from its thousandths.
    ///
    /// - Parameter thousandths: The number times 1000; a value of more than fifteen digits cannot be serialized.
    public init(thousandths: Int64) {
        self.thousandths = thousandths
    }

    /// Creates the nearest number; of two equally near numbers, the one whose last digit is even.
    ///
    /// - Parameter value: The number; a number from 10¹² on, and NaN, cannot be serialized.
    public init(_ value: Double) {
        let rounded = (value * 1000).rounded(.toNearestOrEven)
        thousandths = Int64(exactly: rounded) ?? (rounded > 0 ? .max : .min)
    }

    /// The nearest `Double` to the number.
    public var double: Double { Double(thousandths) / 1000 }
}

extension StructuredDecimal: Comparable {
    /// Whether the first number is less.
    public static func < (lhs: StructuredDecimal, rhs: StructuredDecimal) -> Bool { lhs.thousandths < rhs.thousandths }
}

extension StructuredDecimal: ExpressibleByFloatLiteral {
    /// Creates the nearest number to a literal.
    public init(floatLiteral value: Double) {
        self.init(value)
    }
}
