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
        guard let framing = unsafe bytes.withUnsafeBytes({ unsafe Self.framing(of: $0) }) else { return nil }
        // A length beside a coding is a sign of an attempt to split a response.
        let isClear = framing.length == nil || !framing.isChunked
        // An informational head has no content, whatever its fields say; only a length of 0 means the same to a recipient
        // that believes them.
        let isEmpty = framing.length ?? 0 == 0 && !framing.isChunked
        return isClear && (isEmpty || !isInformational) ? framing : nil
    }

    private static func framing(of bytes: UnsafeRawBufferPointer) -> Framing? {
        var framing = Framing()
        var isFoldable = false
        var start = unsafe (bytes.place(of: UInt8(ascii: "\n"), from: 0) ?? bytes.count) + 1
        while start < bytes.count {
            let end = unsafe bytes.place(of: UInt8(ascii: "\n"), from: start) ?? bytes.count
            let line = unsafe bytes[start..<end]
            start = end + 1
            guard let first = unsafe line.first, first != UInt8(ascii: "\r") else { break }
            if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
                // Before the first field there is no line to continue, and recipients differ on a folded length.
                guard isFoldable else { return nil }
                continue
            }
            guard let field = unsafe FramingField(line) else {
                isFoldable = true
                continue
            }
            isFoldable = false
            guard unsafe framing.add(field, value: line) else { return nil }
        }
        return framing
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
    init?(_ line: Slice<UnsafeRawBufferPointer>) {
        // The first byte is enough to skip most other fields.
        switch unsafe line.first {
        case UInt8(ascii: "C"), UInt8(ascii: "c"): self = .length
        case UInt8(ascii: "T"), UInt8(ascii: "t"): self = .coding
        default: return nil
        }
        let expected: StaticString = self == .length ? "content-length" : "transfer-encoding"
        guard unsafe line.starts(withLowerCase: expected) else { return nil }
        // A name that only begins like this one is another.
        let rest = unsafe line[(line.startIndex + expected.utf8CodeUnitCount)...]
        guard let end = unsafe rest.first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }),
            end == UInt8(ascii: ":")
        else { return nil }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Whether the bytes begin with a text in lower case, letters in any case.
    fileprivate func starts(withLowerCase text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard unsafe count >= length else { return false }
        let start = unsafe startIndex
        for place in 0..<length {
            guard unsafe self[start + place] | 0x20 == text.utf8Start[place] | 0x20 else { return false }
        }
        return true
    }

    /// Whether the bytes are a text in lower case, letters in any case.
    fileprivate func equals(lowerCase text: StaticString) -> Bool {
        unsafe count == text.utf8CodeUnitCount && starts(withLowerCase: text)
    }
}

extension CurlResponseHead.Framing {
    /// Adds a field; returns false where its value is invalid or contradicts an earlier one.
    fileprivate mutating func add(_ field: FramingField, value line: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")),
            unsafe line[..<colon].last.map({ $0 > 0x20 }) == true
        else {
            // Some recipients ignore blanks behind a name, and others ignore the field.
            return false
        }
        let value = unsafe CurlResponseHead.trimmed(line[(colon + 1)...])
        switch field {
        case .coding:
            // The request has asked for no other coding (RFC 9112, section 7.4).
            guard !isChunked, unsafe value.equals(lowerCase: "chunked") else { return false }
            isChunked = true
        case .length:
            var start = unsafe value.startIndex
            while true {
                let end = unsafe value[start...].firstIndex(of: UInt8(ascii: ",")) ?? value.endIndex
                guard let number = unsafe Self.number(CurlResponseHead.trimmed(value[start..<end])),
                    length == nil || length == number
                else { return false }
                length = number
                guard unsafe end < value.endIndex else { break }
                start = end + 1
            }
        }
        return true
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int64? {
        guard unsafe !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for place in unsafe digits.indices {
            let digit = unsafe digits[place]
            guard (0x30...0x39).contains(digit) else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = product.addingReportingOverflow(Int64(digit - 0x30))
            guard !isTooLarge, !isSumTooLarge else { return nil }
            number = sum
        }
        return number
    }
}
#endif
