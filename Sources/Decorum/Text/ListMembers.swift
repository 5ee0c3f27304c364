/// The members of a field whose value is a comma-separated list, without blanks around them (RFC 9110, section 5.6.1).
///
/// A comma within a quoted string does not separate; empty members are left out. From a quotation mark on that is never
/// closed every comma separates, so that none hides a directive such as `no-store`.
struct ListMembers: Sequence, IteratorProtocol {
    private var rest: Substring
    private var honoursQuotes = true
    private let hasComma: Bool

    init(_ value: String) {
        rest = value[...]
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
        var isQuoted = false
        var isEscaped = false
        var firstQuotedComma: Substring.Index?
        for index in rest.utf8.indices {
            switch rest.utf8[index] {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\"") where honoursQuotes:
                isQuoted.toggle()
                firstQuotedComma = nil
            case UInt8(ascii: ",") where !isQuoted: return index
            case UInt8(ascii: ","): firstQuotedComma = firstQuotedComma ?? index
            default: break
            }
        }
        guard isQuoted, let firstQuotedComma else { return rest.endIndex }
        honoursQuotes = false
        return firstQuotedComma
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
