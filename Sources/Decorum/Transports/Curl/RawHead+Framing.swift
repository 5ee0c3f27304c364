#if os(Linux)
extension RawHead {
    /// Whether the head tells in one way alone where its content ends (RFC 9112, section 6.3).
    ///
    /// Where it does not, libcurl and the server, or a proxy between them, may disagree on where the next response starts,
    /// and each later request on the connection would get the answer to another one.
    var hasClearFraming: Bool {
        var framing = Framing()
        var isFoldable = false
        var start = lineEnd(from: 0) + 1
        while start < bytes.endIndex {
            let end = lineEnd(from: start)
            let line = bytes[start..<end]
            start = end + 1
            guard let first = line.first, first != UInt8(ascii: "\r") else { break }
            if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
                // Nothing stands before the first field that could go on, and readers differ on a length that does.
                guard isFoldable else { return false }
                continue
            }
            guard let field = FramingField(line) else {
                isFoldable = true
                continue
            }
            isFoldable = false
            guard framing.add(field, value: line) else { return false }
        }
        return framing.isClear && !(isInformational && framing.isPresent)
    }

    /// The length that the head tells; nil where it tells none.
    ///
    /// Only a head with clear framing has one.
    var contentLength: Int64? {
        var framing = Framing()
        var start = lineEnd(from: 0) + 1
        while start < bytes.endIndex, framing.length == nil {
            let end = lineEnd(from: start)
            let line = bytes[start..<end]
            start = end + 1
            guard FramingField(line) == .length, framing.add(.length, value: line) else { continue }
        }
        return framing.length
    }

    /// Whether another head follows, so that there is no content (RFC 9110, section 8.6).
    private var isInformational: Bool {
        guard let status else { return false }
        return status < 200 && status != 101
    }
}

/// A field that tells where content ends.
private enum FramingField {
    case length
    case coding

    /// Looks at the name of a line, behind which there may be blanks.
    init?(_ line: ArraySlice<UInt8>) {
        // No other field costs more than a look at one byte.
        switch line.first {
        case UInt8(ascii: "C"), UInt8(ascii: "c"): self = .length
        case UInt8(ascii: "T"), UInt8(ascii: "t"): self = .coding
        default: return nil
        }
        let expected = self == .length ? "content-length" : "transfer-encoding"
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            RawHead.trimmed(line[..<colon]).elementsEqual(expected.utf8, by: { $0 | 0x20 == $1 | 0x20 })
        else { return nil }
    }
}

/// The end of the content, as the fields of a head tell it.
private struct Framing {
    private(set) var length: Int64?
    private var isChunked = false

    var isPresent: Bool { length != nil || isChunked }
    /// A length beside a coding is a sign of an attempt to split a response.
    var isClear: Bool { length == nil || !isChunked }

    /// Adds a field; false where its value cannot be, or contradicts an earlier one.
    mutating func add(_ field: FramingField, value line: ArraySlice<UInt8>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line[..<colon].last.map({ $0 > 0x20 }) == true else {
            // Some recipients take a name with blanks behind it for the field, and others do not.
            return false
        }
        let value = RawHead.trimmed(line[(colon + 1)...])
        switch field {
        case .coding:
            // Another coding was not asked for (RFC 9112, section 7.4).
            guard !isChunked, value.elementsEqual("chunked".utf8, by: { $0 | 0x20 == $1 }) else { return false }
            isChunked = true
        case .length:
            for member in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                guard let number = Self.number(RawHead.trimmed(member)), length == nil || length == number else {
                    return false
                }
                length = number
            }
        }
        return true
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
#endif
