// Reads the tokens of JSON (RFC 8259, sections 3, 6 and 7).

extension JSONScanner {
    /// Consumes a string, which may be a name, and returns the range between its quotation marks.
    mutating func skipText() throws(JSONSyntaxError) -> Range<Int> {
        guard try peek() == UInt8(ascii: "\"") else { throw fault("a string is expected") }
        let start = position + 1
        var index = start
        while true {
            index = Self.indexOfSpecial(in: bytes, from: index, to: end)
            guard index < end else { break }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                position = index + 1
                return start..<index
            case UInt8(ascii: "\\"): index = try indexBehindEscape(at: index)
            default:
                guard allowsControls else {
                    position = index
                    let isLineBreak = bytes[index] == 0x0A || bytes[index] == 0x0D
                    throw fault(
                        isLineBreak
                            ? "a string does not end on its line, so a quotation mark may be missing"
                            : "a string has a control character")
                }
                index += 1
            }
        }
        position = end
        throw fault("a string has no end")
    }

    /// The index of the next quotation mark, backslash or control character; the end if there is none.
    private static func indexOfSpecial(in bytes: [UInt8], from start: Int, to end: Int) -> Int {
        unsafe bytes.withUnsafeBytes { buffer in
            var index = start
            // Eight bytes at a time: the lowest flag that is set belongs to the first such byte.
            while index + 8 <= end {
                let word = UInt64(littleEndian: unsafe buffer.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let flags =
                    Self.flags(of: word ^ (ones * 0x22), below: 1) | Self.flags(of: word ^ (ones * 0x5C), below: 1)
                    | Self.flags(of: word, below: 0x20)
                if flags != 0 { return index + flags.trailingZeroBitCount / 8 }
                index += 8
            }
            while index < end, unsafe !isSpecial(buffer[index]) { index += 1 }
            return index
        }
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// The highest bit of each byte that is less than a limit, which is at most 128; bytes above the first one may be wrong.
    private static func flags(of word: UInt64, below limit: UInt64) -> UInt64 {
        (word &- ones &* limit) & ~word & (ones &* 0x80)
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Consumes a bracket, a brace, a comma or a colon that ``next()`` returned.
    mutating func consumeMark() {
        position += 1
    }

    /// Consumes a number, `true`, `false` or `null`.
    mutating func skipScalar() throws(JSONSyntaxError) {
        let start = position
        let literal: StaticString? =
            switch byte {
            case UInt8(ascii: "t"): "true"
            case UInt8(ascii: "f"): "false"
            case UInt8(ascii: "n"): "null"
            default: nil
            }
        if let literal, skip(literal) { return try endScalar(from: start) }
        if byte == UInt8(ascii: "-") { position += 1 }
        let isZero = byte == UInt8(ascii: "0")
        let count = skipDigits()
        guard count > 0, !isZero || count == 1 else {
            position = start
            throw fault("a value is expected")
        }
        if byte == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() > 0 else { throw fault("a digit is expected") }
        }
        if let byte, byte | 0x20 == UInt8(ascii: "e") {
            position += 1
            if self.byte == UInt8(ascii: "+") || self.byte == UInt8(ascii: "-") { position += 1 }
            guard skipDigits() > 0 else { throw fault("a digit is expected") }
        }
        try endScalar(from: start)
    }

    /// Throws if a scalar continues with a letter, a digit or a sign, so that it is none.
    private mutating func endScalar(from start: Int) throws(JSONSyntaxError) {
        switch byte ?? 0x20 {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            position = start
            throw fault("a value is expected")
        default: return
        }
    }

    private mutating func skip(_ literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard end - position >= count else { return false }
        let isEqual = literal.withUTF8Buffer { unsafe $0.elementsEqual(bytes[position..<position + count]) }
        if isEqual { position += count }
        return isEqual
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte, (0x30...0x39).contains(byte) { position += 1 }
        return position - start
    }

    private var byte: UInt8? { position < end ? bytes[position] : nil }

    private func indexBehindEscape(at index: Int) throws(JSONSyntaxError) -> Int {
        guard index + 1 < end else { throw fault("a string has no end") }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            guard index + 6 <= end, bytes[index + 2..<index + 6].allSatisfy({ PercentCoding.hexDigit($0) != nil })
            else {
                throw JSONSyntaxError(reason: "an escape does not have four digits", offset: index)
            }
            return index + 6
        default: throw JSONSyntaxError(reason: "an escape is unknown", offset: index)
        }
    }
}
