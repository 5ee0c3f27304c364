/// Reads the tokens of JSON (RFC 8259, sections 3, 6 and 7) in memory that does not move while it exists.
///
/// It is the inner loop of `JSONScanner`: a document is read faster where its bytes are not reached through an array.
/// `@safe`, since nothing is read behind the end, which is in the bytes, and no cursor outlives the closure that was given
/// them.
@safe struct JSONCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    /// The end of the part that is read, which is in the bytes.
    private let end: Int
    private let allowsControls: Bool
    /// The byte at which reading continues.
    private(set) var position: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int, end: Int, allowsControls: Bool) {
        unsafe self.bytes = bytes
        self.position = position
        self.end = end
        self.allowsControls = allowsControls
    }

    /// Moves to the next byte that is not blank, and returns it without consuming it; nil at the end.
    @inline(__always) mutating func next() -> UInt8? {
        while let byte {
            guard isBlank(byte) else { return byte }
            position += 1
        }
        return nil
    }

    @inline(__always) private func isBlank(_ byte: UInt8) -> Bool {
        guard byte <= 0x20 else { return false }
        return byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 || allowsControls && byte == 0x1E
    }

    /// Returns the next byte that is not blank, without consuming it.
    @inline(__always) mutating func peek() throws(JSONSyntaxError) -> UInt8 {
        guard let byte = next() else { throw fault("it ends too early") }
        return byte
    }

    /// Consumes a byte that has to be the next one.
    mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard try skip(byte) else { throw fault("\(Self.name(of: byte)) is expected") }
    }

    /// Consumes a byte if it is the next one.
    @inline(__always) mutating func skip(_ byte: UInt8) throws(JSONSyntaxError) -> Bool {
        guard try peek() == byte else { return false }
        position += 1
        return true
    }

    /// Consumes a bracket, a brace, a comma or a colon that ``next()`` returned.
    @inline(__always) mutating func consumeMark() {
        position += 1
    }

    /// Consumes a string, which may be a name, and returns the range between its quotation marks.
    mutating func skipText() throws(JSONSyntaxError) -> Range<Int> {
        guard try peek() == UInt8(ascii: "\"") else { throw fault("a string is expected") }
        let start = position + 1
        var index = start
        while true {
            index = indexOfSpecial(from: index)
            guard index < end else { break }
            switch unsafe bytes[index] {
            case UInt8(ascii: "\""):
                position = index + 1
                return start..<index
            case UInt8(ascii: "\\"): index = try indexBehindEscape(at: index)
            default:
                guard allowsControls else {
                    position = index
                    let isLineBreak = unsafe bytes[index] == 0x0A || bytes[index] == 0x0D
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
    private func indexOfSpecial(from start: Int) -> Int {
        let buffer = unsafe UnsafeRawBufferPointer(bytes)
        var index = start
        // Eight bytes at a time: the lowest flag that is set belongs to the first such byte.
        while index + 8 <= end {
            let word = UInt64(littleEndian: unsafe buffer.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let quotation = Self.flags(of: word ^ (Self.ones * 0x22), below: 1)
            let backslash = Self.flags(of: word ^ (Self.ones * 0x5C), below: 1)
            let flags = quotation | backslash | Self.flags(of: word, below: 0x20)
            if flags != 0 { return index + flags.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < end, unsafe !Self.isSpecial(bytes[index]) { index += 1 }
        return index
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// The highest bit of each byte that is less than a limit, which is at most 128; bytes above the first one may be wrong.
    private static func flags(of word: UInt64, below limit: UInt64) -> UInt64 {
        (word &- ones &* limit) & ~word & (ones &* 0x80)
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
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

    @inline(__always) private var byte: UInt8? { position < end ? unsafe bytes[position] : nil }

    private func indexBehindEscape(at index: Int) throws(JSONSyntaxError) -> Int {
        guard index + 1 < end else { throw fault("a string has no end") }
        switch unsafe bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            let digits = index + 2..<index + 6
            guard digits.upperBound <= end, unsafe bytes[digits].allSatisfy({ PercentCoding.hexDigit($0) != nil })
            else {
                throw JSONSyntaxError(reason: "an escape does not have four digits", offset: index)
            }
            return digits.upperBound
        default: throw JSONSyntaxError(reason: "an escape is unknown", offset: index)
        }
    }

    static func name(of byte: UInt8) -> String { "\u{27}" + String(UnicodeScalar(byte)) + "\u{27}" }

    /// An error at the current position.
    func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: position) }
}
