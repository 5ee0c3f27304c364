import Foundation

/// Reads JSON (RFC 8259) from its beginning to its end, and returns the position of each value.
///
/// Values are skipped without being decoded, so that a large document can be indexed before any part of it is read. A
/// value counts whether it is read or skipped: see ``count``.
public struct JSONScanner: Sendable {
    /// The deepest nesting that is read.
    public static let depthLimit = 512

    /// The bytes of the document.
    public let bytes: [UInt8]
    /// The byte at which reading continues.
    public private(set) var position: Int
    /// The number of values so far that were read or skipped; names of members do not count.
    public private(set) var count = 0
    private let end: Int
    private let countLimit: Int
    /// Whether blanks and strings may have control characters, as in a sequence of texts (RFC 7464) or a careless log.
    private let allowsControls: Bool
    /// The number of objects and arrays around the position that ``object(_:)`` and ``array(_:)`` are reading.
    private var depth = 0

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - bytes: The document, with or without a byte order mark.
    ///   - range: The part to read; nil for all.
    ///   - countLimit: The largest number of values. A value of two bytes takes much more memory once it is read, so a
    ///     limit is useful for documents of others.
    public init(_ bytes: [UInt8], range: Range<Int>? = nil, countLimit: Int = .max) {
        self.init(bytes, range: range, countLimit: countLimit, allowsControls: false)
    }

    init(_ bytes: [UInt8], range: Range<Int>? = nil, countLimit: Int = .max, allowsControls: Bool) {
        self.bytes = bytes
        position = range?.lowerBound ?? (bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        end = range?.upperBound ?? bytes.count
        self.countLimit = countLimit
        self.allowsControls = allowsControls
    }

    /// Moves to the next byte that is not blank, and returns it without consuming it; nil at the end.
    public mutating func next() -> UInt8? {
        while position < end {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case 0x1E where allowsControls: position += 1
            case let byte: return byte
            }
        }
        return nil
    }

    /// Returns the next byte that is not blank, without consuming it.
    public mutating func peek() throws(JSONSyntaxError) -> UInt8 {
        guard let byte = next() else { throw fault("it ends too early") }
        return byte
    }

    /// Consumes a byte that has to be the next one.
    public mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard try peek() == byte else { throw fault("\(name(of: byte)) is expected") }
        position += 1
    }

    /// Throws unless only blanks are left.
    public mutating func expectEnd() throws(JSONSyntaxError) {
        guard next() == nil else { throw fault("there is text after the end of the document") }
    }

    /// Reads an object; the closure gets the name of each member and has to consume the value.
    public mutating func object(
        _ member: (_ name: String, _ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try container(UInt8(ascii: "{"), UInt8(ascii: "}")) { scanner in
            let name = try scanner.text(of: scanner.skipText())
            try scanner.expect(UInt8(ascii: ":"))
            try member(name, &scanner)
        }
    }

    /// Reads an array; the closure has to consume each element.
    public mutating func array(_ element: (_ scanner: inout JSONScanner) throws -> Void) throws {
        try container(UInt8(ascii: "["), UInt8(ascii: "]"), element)
    }

    private mutating func container(
        _ open: UInt8, _ close: UInt8, _ part: (_ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try countValue()
        try expect(open)
        guard depth < Self.depthLimit else { throw fault("it is nested too deeply") }
        depth += 1
        defer { depth -= 1 }
        if try skip(close) { return }
        repeat { try part(&self) } while try skip(UInt8(ascii: ","))
        try expect(close)
    }

    /// Reads a string.
    public mutating func string() throws(JSONSyntaxError) -> String {
        try text(of: skipString())
    }

    /// Consumes a string, and returns the range between its quotation marks.
    public mutating func skipString() throws(JSONSyntaxError) -> Range<Int> {
        try countValue()
        return try skipText()
    }

    /// Consumes a value of any kind, and returns its range.
    public mutating func skipValue() throws(JSONSyntaxError) -> Range<Int> {
        _ = try peek()
        let start = position
        // The closing bytes of the containers around the position, innermost last.
        var open: [UInt8] = []
        repeat {
            try countValue()
            switch try peek() {
            case UInt8(ascii: "{"):
                position += 1
                if try !skip(UInt8(ascii: "}")) {
                    try enter(UInt8(ascii: "}"), &open)
                    try skipName()
                    continue
                }
            case UInt8(ascii: "["):
                position += 1
                if try !skip(UInt8(ascii: "]")) {
                    try enter(UInt8(ascii: "]"), &open)
                    continue
                }
            case UInt8(ascii: "\""): _ = try skipText()
            default: try skipScalar()
            }
            try skipEnds(&open)
        } while !open.isEmpty
        return start..<position
    }

    /// Consumes a token and returns its range; nil at the end.
    ///
    /// A token is a bracket, a brace, a comma, a colon, a string with its quotation marks, or a scalar. Their order is
    /// not checked, and they do not count as values.
    public mutating func token() throws(JSONSyntaxError) -> Range<Int>? {
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

    /// Consumes the bytes between a value and the next: the ends of containers, and a comma.
    private mutating func skipEnds(_ open: inout [UInt8]) throws(JSONSyntaxError) {
        while let close = open.last {
            if try skip(UInt8(ascii: ",")) {
                if close == UInt8(ascii: "}") { try skipName() }
                return
            }
            guard try skip(close) else { throw fault("\(name(of: close)) or a comma is expected") }
            open.removeLast()
        }
    }

    /// Consumes a byte if it is the next one.
    private mutating func skip(_ byte: UInt8) throws(JSONSyntaxError) -> Bool {
        guard try peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipName() throws(JSONSyntaxError) {
        _ = try skipText()
        try expect(UInt8(ascii: ":"))
    }

    private mutating func enter(_ close: UInt8, _ open: inout [UInt8]) throws(JSONSyntaxError) {
        guard depth + open.count < Self.depthLimit else { throw fault("it is nested too deeply") }
        open.append(close)
    }

    private mutating func countValue() throws(JSONSyntaxError) {
        count += 1
        guard count <= countLimit else { throw fault("it has too many values") }
    }

    private func text(of content: Range<Int>) throws(JSONSyntaxError) -> String {
        guard let text = JSONText.text(of: bytes[content]) else { throw fault("a string is not Unicode text") }
        return text
    }

    private func name(of byte: UInt8) -> String { "\u{27}" + String(UnicodeScalar(byte)) + "\u{27}" }

    /// Creates an error at the current position.
    ///
    /// - Parameter reason: The problem, as a clause.
    /// - Returns: The error.
    public func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: position) }
}

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
                    throw fault("a string has a control character")
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
        for literal in ["true", "false", "null"] as [StaticString] where skip(literal) {
            return try endScalar(from: start)
        }
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

/// A document is not the JSON that is expected.
public struct JSONSyntaxError: DescribableError, Hashable {
    /// The fault, as a clause.
    public let reason: String
    /// The byte offset of the fault.
    public let offset: Int

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The fault, as a clause.
    ///   - offset: The byte offset of the fault.
    public init(reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The line of the fault, counted from 1.
    public func line(in bytes: [UInt8]) -> Int {
        bytes.prefix(offset).reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    }
}

extension JSONSyntaxError {
    /// A sentence with the reason and the place.
    public var description: String { "The JSON cannot be read at byte \(offset): \(reason)." }
}
