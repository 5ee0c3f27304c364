public import Decorum
import Foundation

/// Reads JSON (RFC 8259) from its beginning to its end, and tells where each value stands.
///
/// Values are skipped without being decoded, so that a large document can be indexed before any part of it is read.
public struct JSONScanner: Sendable {
    /// The deepest nesting that is read.
    public static let depthLimit = 512

    /// The bytes of the document.
    public let bytes: [UInt8]
    /// The byte at which reading goes on.
    public private(set) var position: Int
    private let end: Int

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - bytes: The document, with or without a byte order mark.
    ///   - range: The part to read; nil for all.
    public init(_ bytes: [UInt8], range: Range<Int>? = nil) {
        self.bytes = bytes
        position = range?.lowerBound ?? (bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        end = range?.upperBound ?? bytes.count
    }

    /// The next byte that is not blank, which is not consumed.
    public mutating func peek() throws(JSONSyntaxError) -> UInt8 {
        skipBlanks()
        guard position < end else { throw fault("it ends too early") }
        return bytes[position]
    }

    /// Consumes a byte that has to come next.
    public mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard try peek() == byte else { throw fault("\(name(of: byte)) is expected") }
        position += 1
    }

    /// Throws unless nothing but blanks is left.
    public mutating func expectEnd() throws(JSONSyntaxError) {
        skipBlanks()
        guard position == end else { throw fault("there is more behind the end of the document") }
    }

    /// Reads an object, handing each member's name; the closure has to consume the member's value.
    public mutating func object(
        _ member: (_ name: String, _ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try expect(UInt8(ascii: "{"))
        if try skip(UInt8(ascii: "}")) { return }
        repeat {
            let name = try string()
            try expect(UInt8(ascii: ":"))
            try member(name, &self)
        } while try skip(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"))
    }

    /// Reads an array; the closure has to consume each element.
    public mutating func array(_ element: (_ scanner: inout JSONScanner) throws -> Void) throws {
        try expect(UInt8(ascii: "["))
        if try skip(UInt8(ascii: "]")) { return }
        repeat { try element(&self) } while try skip(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"))
    }

    /// Reads a string.
    public mutating func string() throws(JSONSyntaxError) -> String {
        let content = try skipString()
        guard let text = JSONText.text(of: bytes[content]) else { throw fault("a string is not Unicode text") }
        return text
    }

    /// Consumes a string, and returns the range between its quotation marks.
    public mutating func skipString() throws(JSONSyntaxError) -> Range<Int> {
        guard try peek() == UInt8(ascii: "\"") else { throw fault("a string is expected") }
        let start = position + 1
        var index = start
        while index < end {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                position = index + 1
                return start..<index
            }
            if byte == UInt8(ascii: "\\") {
                index = try indexBehindEscape(at: index)
            } else if byte < 0x20 {
                position = index
                throw fault("a control character stands in a string")
            } else {
                index += 1
            }
        }
        position = end
        throw fault("a string has no end")
    }

    /// Consumes a value of any kind, and returns where it stands.
    public mutating func skipValue() throws(JSONSyntaxError) -> Range<Int> {
        _ = try peek()
        let start = position
        // The bytes that close the containers around the position, innermost last.
        var open: [UInt8] = []
        repeat {
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
            case UInt8(ascii: "\""): _ = try skipString()
            default: try skipScalar()
            }
            try skipEnds(&open)
        } while !open.isEmpty
        return start..<position
    }

    /// Consumes what may stand between a value and the next: the ends of containers, and a comma.
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

    /// Consumes a byte if it comes next.
    private mutating func skip(_ byte: UInt8) throws(JSONSyntaxError) -> Bool {
        guard try peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipName() throws(JSONSyntaxError) {
        _ = try skipString()
        try expect(UInt8(ascii: ":"))
    }

    private mutating func enter(_ close: UInt8, _ open: inout [UInt8]) throws(JSONSyntaxError) {
        guard open.count < Self.depthLimit else { throw fault("it is nested too deeply") }
        open.append(close)
    }

    private mutating func skipBlanks() {
        while position < end {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }
}

extension JSONScanner {
    private mutating func skipScalar() throws(JSONSyntaxError) {
        for literal in ["true", "false", "null"] as [StaticString] where skip(literal) { return }
        let start = position
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
                throw JSONSyntaxError(reason: "an escape has no four digits", offset: index)
            }
            return index + 6
        default: throw JSONSyntaxError(reason: "an escape is unknown", offset: index)
        }
    }

    private func name(of byte: UInt8) -> String { "\u{27}" + String(UnicodeScalar(byte)) + "\u{27}" }

    /// Makes an error at the current position.
    ///
    /// - Parameter reason: What is wrong, as a clause.
    /// - Returns: The error.
    public func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: position) }
}

/// A document is not the JSON that is expected.
public struct JSONSyntaxError: DescribableError, Hashable {
    /// The fault, as a clause.
    public let reason: String
    /// The byte at which it shows.
    public let offset: Int

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The fault, as a clause.
    ///   - offset: The byte at which it shows.
    public init(reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The line, counted from 1, on which it shows.
    public func line(in bytes: [UInt8]) -> Int {
        bytes.prefix(offset).reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    }
}

extension JSONSyntaxError {
    /// A sentence with the reason and the place.
    public var description: String { "The JSON cannot be read at byte \(offset): \(reason)." }
}
