/// The members of a field whose value is a comma-separated list, without blanks around them (RFC 9110, section 5.6.1).
///
/// A comma within a quoted string does not separate members; empty members are left out. A quoted string ends before a
/// comma, a semicolon or the end of the value. A quotation mark without such an end is a character like any other, so
/// that it cannot hide a directive such as `no-store`.
struct ListMembers: Sequence, IteratorProtocol {
    private var rest: Substring
    /// Quotation marks before this index open no quoted string.
    private var literalEnd: Substring.Index
    private let hasComma: Bool

    init(_ value: String) {
        rest = value[...]
        literalEnd = value.startIndex
        hasComma = !value.allUTF8 { $0 != UInt8(ascii: ",") }
    }

    mutating func next() -> Substring? {
        while !rest.isEmpty {
            let end = endOfMember()
            let member = rest[..<end].trimmingBlanks()
            rest = rest[end...].dropFirst()
            if !member.isEmpty { return member }
        }
        return nil
    }

    private mutating func endOfMember() -> Substring.Index {
        guard hasComma else { return rest.endIndex }
        let bytes = rest.utf8
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == UInt8(ascii: ",") { return index }
            let isOpening = bytes[index] == UInt8(ascii: "\"") && index >= literalEnd
            bytes.formIndex(after: &index)
            if isOpening, let end = endOfQuotedString(from: index) { index = end }
        }
        return index
    }

    /// Returns the index after a quoted string; nil when the quotation mark opens none, and then no mark within it opens
    /// one either, so that no byte is read again and again.
    private mutating func endOfQuotedString(from start: Substring.Index) -> Substring.Index? {
        let bytes = rest.utf8
        var (index, isEscaped) = (start, false)
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\""), !isEscaped {
                let end = bytes.index(after: index)
                let next = bytes[end...].first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
                if next == nil || next == UInt8(ascii: ",") || next == UInt8(ascii: ";") { return end }
                literalEnd = index
                return nil
            }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            bytes.formIndex(after: &index)
        }
        literalEnd = index
        return nil
    }
}

extension Substring {
    fileprivate func trimmingBlanks() -> Substring {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = utf8.firstIndex(where: { !isBlank($0) }), let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return self[first..<utf8.index(after: last)]
    }
}

extension StringProtocol {
    /// The text in lower case; most schemes and hosts are in lower case already and are not converted.
    var inLowerCase: String {
        utf8.allSatisfy { $0 < 0x80 && !(0x41...0x5A).contains($0) } ? String(self) : lowercased()
    }
}

extension String {
    /// The beginning that fits in a number of bytes in UTF-8; nearly always the whole text.
    ///
    /// A single character may have any number of bytes, so that a number of characters bounds no memory.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return String(unicodeScalars[..<end])
    }
}
