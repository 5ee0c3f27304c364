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
    public let thousandths: Int

    /// Creates a number from its thousandths.
    ///
    /// - Parameter thousandths: The number times 1000; beyond fifteen digits it cannot be written.
    public init(thousandths: Int) {
        self.thousandths = thousandths
    }

    /// Creates the number that is nearest, or of two that are, the one whose last digit is even.
    ///
    /// - Parameter value: The number; from 10¹² on it cannot be written, and what is no number cannot either.
    public init(_ value: Double) {
        let rounded = (value * 1000).rounded(.toNearestOrEven)
        thousandths = Int(exactly: rounded) ?? (rounded > 0 ? .max : .min)
    }

    /// The number in binary, which is the nearest one to it.
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
