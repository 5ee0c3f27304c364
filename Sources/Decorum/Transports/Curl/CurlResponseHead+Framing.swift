#if os(Linux)
extension CurlResponseHead {
    /// The end of the content, as the fields of a head tell it.
    struct Framing: Equatable {
        /// The value of Content-Length; nil if absent.
        fileprivate(set) var length: Int64?
        fileprivate(set) var isChunked = false

        /// Whether any field tells the end.
        var isPresent: Bool { length != nil || isChunked }
    }

    /// The end of the content (RFC 9112, section 6.3); nil where the head contradicts itself.
    ///
    /// In that case, libcurl and the server, or a proxy between them, may disagree on where the next response starts, and
    /// each later request on the connection could get the response to another one.
    var framing: Framing? {
        var framing = Framing()
        var isFoldable = false
        var start = lineEnd(from: 0) + 1
        while start < bytes.endIndex {
            let end = lineEnd(from: start)
            let line = bytes[start..<end]
            start = end + 1
            guard let first = line.first, first != UInt8(ascii: "\r") else { break }
            if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
                // Before the first field there is no line to continue, and recipients differ on a folded length.
                guard isFoldable else { return nil }
                continue
            }
            guard let field = FramingField(line) else {
                isFoldable = true
                continue
            }
            isFoldable = false
            guard framing.add(field, value: line) else { return nil }
        }
        // A length beside a coding is a sign of an attempt to split a response.
        let isClear = framing.length == nil || !framing.isChunked
        return isClear && !(isInformational && framing.isPresent) ? framing : nil
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

    /// Reads the name of a line; blanks may follow it.
    init?(_ line: ArraySlice<UInt8>) {
        // The first byte is enough to skip most other fields.
        switch line.first {
        case UInt8(ascii: "C"), UInt8(ascii: "c"): self = .length
        case UInt8(ascii: "T"), UInt8(ascii: "t"): self = .coding
        default: return nil
        }
        let expected = self == .length ? "content-length" : "transfer-encoding"
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            CurlResponseHead.trimmed(line[..<colon]).elementsEqual(expected.utf8, by: { $0 | 0x20 == $1 | 0x20 })
        else { return nil }
    }
}

extension CurlResponseHead.Framing {
    /// Adds a field; returns false where its value is invalid or contradicts an earlier one.
    fileprivate mutating func add(_ field: FramingField, value line: ArraySlice<UInt8>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line[..<colon].last.map({ $0 > 0x20 }) == true else {
            // Some recipients ignore blanks behind a name, and others ignore the field.
            return false
        }
        let value = CurlResponseHead.trimmed(line[(colon + 1)...])
        switch field {
        case .coding:
            // The request has asked for no other coding (RFC 9112, section 7.4).
            guard !isChunked, value.elementsEqual("chunked".utf8, by: { $0 | 0x20 == $1 }) else { return false }
            isChunked = true
        case .length:
            for member in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                guard let number = Self.number(CurlResponseHead.trimmed(member)), length == nil || length == number
                else { return false }
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
