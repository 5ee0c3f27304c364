/// Reads JSON (RFC 8259) from its beginning to its end, and returns the position of each value.
///
/// Values are skipped without being decoded, so that a large document can be indexed before any part of it is read. A
/// value counts whether it is read or skipped: see ``count``.
package struct JSONScanner: Sendable {
    /// The deepest nesting that is read.
    package static let depthLimit = 512

    /// The bytes of the document.
    package let bytes: [UInt8]
    /// The byte at which reading continues.
    package internal(set) var position: Int
    /// The number of values so far that were read or skipped; names of members do not count.
    package private(set) var count = 0
    private let end: Int
    private let countLimit: Int
    /// Whether blanks and strings may have control characters, as in a sequence of texts (RFC 7464) or a careless log.
    private let allowsControls: Bool
    /// The number of objects and arrays around the position that ``object(_:)`` and ``array(_:)`` are reading.
    private var depth = 0
    /// The closing bytes of the containers around the position in a value that is skipped, innermost last.
    ///
    /// It is a property, so that it takes memory once and not for each value.
    private var open: [UInt8] = []

    private static let countFault = "it has too many values"
    private static let depthFault = "it is nested too deeply"

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - bytes: The document, with or without a byte order mark.
    ///   - range: The part to read; nil for all.
    ///   - countLimit: The largest number of values. A value of two bytes takes much more memory once it is read, so a
    ///     limit is useful for documents of others.
    ///   - allowsControls: Whether blanks and strings may have control characters.
    package init(_ bytes: [UInt8], range: Range<Int>? = nil, countLimit: Int = .max, allowsControls: Bool = false) {
        let range = range ?? (bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)..<bytes.count
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "The range is in the bytes.")
        (self.bytes, position, end, self.countLimit) = (bytes, range.lowerBound, range.upperBound, countLimit)
        self.allowsControls = allowsControls
    }

    /// Creates an error at the current position; the reason is a clause.
    package func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: position) }
}

/// Tokens (RFC 8259, sections 3, 6 and 7).
extension JSONScanner {
    /// Moves to the next byte that is not blank, and returns it without consuming it; nil at the end.
    @inline(__always) package mutating func next() -> UInt8? {
        while let byte {
            let isBlank =
                byte <= 0x20
                && (byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 || allowsControls && byte == 0x1E)
            guard isBlank else { return byte }
            position += 1
        }
        return nil
    }

    /// Returns the next byte that is not blank, without consuming it.
    @inline(__always) package mutating func peek() throws(JSONSyntaxError) -> UInt8 {
        guard let byte = next() else { throw fault("it ends too early") }
        return byte
    }

    /// Consumes a byte that has to be the next one.
    package mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard try skip(byte) else { throw fault("\(Self.name(of: byte)) is expected") }
    }

    /// Consumes a byte if it is the next one.
    @inline(__always) package mutating func skip(_ byte: UInt8) throws(JSONSyntaxError) -> Bool {
        guard try peek() == byte else { return false }
        position += 1
        return true
    }

    /// Throws unless only blanks are left.
    package mutating func expectEnd() throws(JSONSyntaxError) {
        guard next() == nil else { throw fault("there is text after the end of the document") }
    }

    /// Consumes a token and returns its range; nil at the end.
    ///
    /// A token is a bracket, a brace, a comma, a colon, a string with its quotation marks, or a scalar. Their order is
    /// not checked, and they do not count as values.
    package mutating func token() throws(JSONSyntaxError) -> Range<Int>? {
        guard let byte = next() else { return nil }
        let start = position
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
            UInt8(ascii: ":"):
            position += 1
        case UInt8(ascii: "\""): _ = try skipText()
        default: try skipScalar()
        }
        return start..<position
    }

    /// Consumes a string, which may be a name, and returns the range between its quotation marks.
    mutating func skipText() throws(JSONSyntaxError) -> Range<Int> {
        guard try peek() == UInt8(ascii: "\"") else { throw fault("a string is expected") }
        let start = position + 1
        var index = start
        while true {
            index = indexOfSpecial(from: index)
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

    /// The index of the next quotation mark, backslash or control character; the end if no such byte follows.
    private func indexOfSpecial(from start: Int) -> Int {
        unsafe bytes.withUnsafeBytes { buffer in
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
            while index < end {
                let byte = unsafe buffer[index]
                guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
                index += 1
            }
            return index
        }
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// The highest bit of each byte that is less than a limit, which is at most 128; bytes above the first one may be wrong.
    private static func flags(of word: UInt64, below limit: UInt64) -> UInt64 {
        (word &- ones &* limit) & ~word & (ones &* 0x80)
    }

    private func indexBehindEscape(at index: Int) throws(JSONSyntaxError) -> Int {
        guard index + 1 < end else { throw fault("a string has no end") }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            let digits = index + 2..<index + 6
            guard digits.upperBound <= end, bytes[digits].allSatisfy({ PercentEscapes.hexDigit($0) != nil }) else {
                throw JSONSyntaxError(reason: "an escape does not have four digits", offset: index)
            }
            return digits.upperBound
        default: throw JSONSyntaxError(reason: "an escape is unknown", offset: index)
        }
    }

    /// Consumes a number, `true`, `false` or `null`.
    mutating func skipScalar() throws(JSONSyntaxError) {
        let start = position
        switch byte {
        case UInt8(ascii: "t") where skip("true"), UInt8(ascii: "f") where skip("false"),
            UInt8(ascii: "n") where skip("null"):
            return try endScalar(from: start)
        case UInt8(ascii: "-"): position += 1
        default: break
        }
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

    /// Throws if a scalar continues with a letter, a digit or a sign, so that it is something else.
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
        while let byte, byte.isDigit { position += 1 }
        return position - start
    }

    private var byte: UInt8? { position < end ? bytes[position] : nil }

    private static func name(of byte: UInt8) -> String { "\u{27}" + String(UnicodeScalar(byte)) + "\u{27}" }
}

/// Values.
extension JSONScanner {
    /// Reads an object; the closure gets the name of each member and has to consume the value.
    package mutating func object(_ member: (_ name: String, _ scanner: inout JSONScanner) throws -> Void) throws {
        try members { name, scanner in try member(scanner.text(of: name), &scanner) }
    }

    /// Reads an object; the closure gets the range of each name between its quotation marks and has to consume the value.
    package mutating func members(
        _ member: (_ name: Range<Int>, _ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try container(UInt8(ascii: "{")) { scanner in
            let name = try scanner.skipText()
            try scanner.expect(UInt8(ascii: ":"))
            try member(name, &scanner)
        }
    }

    /// Reads an array; the closure has to consume each element.
    package mutating func array(_ element: (_ scanner: inout JSONScanner) throws -> Void) throws {
        try container(UInt8(ascii: "["), element)
    }

    private mutating func container(
        _ open: UInt8, _ part: (_ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try countValue()
        try expect(open)
        guard depth < Self.depthLimit else { throw fault(Self.depthFault) }
        depth += 1
        defer { depth -= 1 }
        let close = Self.close(of: open)
        if try skip(close) { return }
        repeat { try part(&self) } while try skip(UInt8(ascii: ","))
        try expect(close)
    }

    /// The byte that closes a container: in ASCII, it comes two places after the one that opens it.
    private static func close(of open: UInt8) -> UInt8 { open + 2 }

    /// Reads a string.
    package mutating func string() throws(JSONSyntaxError) -> String {
        try text(of: skipString())
    }

    /// Consumes a string, and returns the range between its quotation marks.
    package mutating func skipString() throws(JSONSyntaxError) -> Range<Int> {
        try countValue()
        return try skipText()
    }

    /// Consumes a value of any kind, and returns its range.
    package mutating func skipValue() throws(JSONSyntaxError) -> Range<Int> {
        _ = try peek()
        let start = position
        open.removeAll(keepingCapacity: true)
        repeat {
            try countValue()
            let byte = try peek()
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                position += 1
                if try !skip(Self.close(of: byte)) {
                    guard open.count < Self.depthLimit - depth else { throw fault(Self.depthFault) }
                    open.append(Self.close(of: byte))
                    if byte == UInt8(ascii: "{") { try skipName() }
                    continue
                }
            case UInt8(ascii: "\""): _ = try skipText()
            default: try skipScalar()
            }
            try skipEnds()
        } while !open.isEmpty
        return start..<position
    }

    /// Consumes the bytes between a value and the next: the ends of containers, and a comma.
    @inline(__always) private mutating func skipEnds() throws(JSONSyntaxError) {
        while let close = open.last {
            if try skip(UInt8(ascii: ",")) {
                if close == UInt8(ascii: "}") { try skipName() }
                return
            }
            guard try skip(close) else { throw fault("\(Self.name(of: close)) or a comma is expected") }
            open.removeLast()
        }
    }

    private mutating func skipName() throws(JSONSyntaxError) {
        _ = try skipText()
        try expect(UInt8(ascii: ":"))
    }

    private mutating func countValue() throws(JSONSyntaxError) {
        count += 1
        guard count <= countLimit else { throw fault(Self.countFault) }
    }

    private func text(of content: Range<Int>) throws(JSONSyntaxError) -> String {
        guard let text = JSONText.text(of: bytes[content]) else { throw fault("a string is not Unicode text") }
        return text
    }
}

/// A document is not the JSON that is expected.
package struct JSONSyntaxError: Error, Hashable, CustomStringConvertible {
    /// The fault, as a clause.
    package let reason: String
    /// The byte offset of the fault.
    package let offset: Int

    /// Creates an error.
    package init(reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The line of the fault, counted from 1.
    package func line(in bytes: [UInt8]) -> Int {
        bytes.prefix(offset).reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    }

    /// A sentence with the reason and the place.
    package var description: String { "The JSON cannot be read at byte \(offset): \(reason)." }
}
