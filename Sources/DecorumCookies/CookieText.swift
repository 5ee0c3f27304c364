/// The bytes of a cookie or of one of its attributes, as a part of a field.
typealias CookieText = ArraySlice<UInt8>

extension CookieText {
    /// The text without blanks and tabs at both ends.
    var trimmed: CookieText {
        guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return []
        }
        return self[first...last]
    }

    /// The parts before and after the first equals sign; the second is nil where there is none.
    var halves: (first: CookieText, second: CookieText?) {
        guard let sign = firstIndex(of: UInt8(ascii: "=")) else { return (trimmed, nil) }
        return (self[..<sign].trimmed, self[(sign + 1)...].trimmed)
    }

    /// The text, and nil where it is not UTF-8.
    var string: String? { String(validating: self, as: UTF8.self) }

    /// Whether the text equals an ASCII text in lower case, in any case.
    func equalsIgnoringCase(_ other: StaticString) -> Bool {
        count == other.utf8CodeUnitCount && startsIgnoringCase(with: other)
    }

    /// Whether the text begins with an ASCII text in lower case, in any case.
    func startsIgnoringCase(with other: StaticString) -> Bool {
        // A static string is a constant of the program, which lives as long as the program.
        let prefix = unsafe UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount)
        guard count >= prefix.count else { return false }
        return unsafe zip(self, prefix).allSatisfy { $0.inLowerCase == $1 }
    }
}

extension UInt8 {
    var isBlank: Bool { self == 0x20 || self == 0x09 }
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    /// Whether the byte ends the parsing of a cookie: a control character other than a tab.
    var isControl: Bool { self < 0x20 && self != 0x09 || self == 0x7F }
    fileprivate var inLowerCase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
