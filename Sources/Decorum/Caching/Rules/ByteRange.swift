import HTTPTypes

/// One range of bytes that a request asks for (RFC 9110, section 14.1.2).
enum ByteRange: Sendable, Equatable {
    case from(Int64, through: Int64?)
    case last(Int64)

    /// Reads the range of a request; nil for another unit, for several ranges, and for an invalid value.
    init?(_ value: String) {
        let unit = "bytes="
        guard value.utf8.count <= 64, value.prefix(unit.count).lowercased() == unit else { return nil }
        let parts = value.dropFirst(unit.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let numbers = parts.map { DecimalDigits.parse($0) }
        switch (parts[0].isEmpty, numbers[0], numbers[1]) {
        case (true, _, let count?): self = .last(count)
        case (false, let first?, let last?) where first <= last: self = .from(first, through: last)
        case (false, let first?, nil) where parts[1].isEmpty: self = .from(first, through: nil)
        default: return nil
        }
    }

    /// The value of the field.
    var value: String {
        switch self {
        case .from(let first, let last): "bytes=\(first)-\(last.map { String($0) } ?? "")"
        case .last(let count): "bytes=-\(count)"
        }
    }

    /// Whether the range ends at the end of the content.
    var isToEnd: Bool {
        if case .from(_, through: .some) = self { false } else { true }
    }

    /// The offsets within a content of a length; nil when the range is outside of the content.
    func resolved(in length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last):
            guard first < length else { return nil }
            return first..<(min(last ?? .max, length - 1) + 1)
        case .last(let count):
            guard count > 0, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}

/// The part of the content that a response holds (RFC 9110, section 14.4).
struct ContentRange: Sendable, Equatable {
    var bounds: Range<Int64>
    /// The number of bytes of the whole content; nil if it is not known.
    var length: Int64?

    init(bounds: Range<Int64>, length: Int64?) {
        self.bounds = bounds
        self.length = length
    }

    /// Reads the field of a response; nil when absent, or when it is not one range of bytes.
    init?(_ fields: HTTPFields) {
        let unit = "bytes "
        guard let value = fields.firstValue(of: .contentRange), value.utf8.count <= 80,
            value.prefix(unit.count).lowercased() == unit
        else { return nil }
        let parts = value.dropFirst(unit.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let offsets = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard offsets.count == 2, let first = DecimalDigits.parse(offsets[0]),
            let last = DecimalDigits.parse(offsets[1]), first <= last, last < .max
        else { return nil }
        length = DecimalDigits.parse(parts[1])
        guard length != nil || parts[1] == "*", last < length ?? .max else { return nil }
        bounds = first..<(last + 1)
    }

    /// The value of the field.
    var value: String {
        "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(length.map { String($0) } ?? "*")"
    }
}

private enum DecimalDigits {
    static func parse(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
