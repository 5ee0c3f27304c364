import Decorum
import DecorumArchive

/// A JSON document while it is written, which is readable and changes little: one leaf on a line, and small lists and
/// objects on one line.
struct JSONPage {
    private(set) var bytes: [UInt8] = []
    private var depth = 0
    private var isFirst = true

    /// The longest list or object, in bytes, that is kept on one line.
    private static let lineLimit = 60

    /// Writes an object over several lines; the closure writes its members.
    mutating func object<Failure: Error>(_ members: (inout JSONPage) throws(Failure) -> Void) throws(Failure) {
        try container(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
    }

    /// Writes an array over several lines; the closure calls ``element()`` before each element.
    mutating func array<Failure: Error>(_ elements: (inout JSONPage) throws(Failure) -> Void) throws(Failure) {
        try container(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
    }

    private mutating func container<Failure: Error>(
        _ open: UInt8, _ close: UInt8, _ content: (inout JSONPage) throws(Failure) -> Void
    ) throws(Failure) {
        bytes.append(open)
        depth += 1
        isFirst = true
        try content(&self)
        depth -= 1
        if !isFirst { breakLine() }
        isFirst = false
        bytes.append(close)
    }

    /// Begins a member; its value has to follow.
    mutating func member(_ name: String) {
        element()
        bytes += JSONText.quoted(name)
        bytes += [UInt8(ascii: ":"), 0x20]
    }

    /// Begins an element; it has to follow.
    mutating func element() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        breakLine()
    }

    mutating func string(_ text: String) {
        bytes += JSONText.quoted(text)
    }

    /// Writes a value that was written at the same depth before.
    mutating func text(_ value: ArraySlice<UInt8>) {
        bytes += value
    }

    mutating func number(_ number: Int) {
        bytes += String(number).utf8
    }

    /// Writes a list on one line, whatever its length.
    mutating func line(_ elements: [[UInt8]]) {
        bytes.append(UInt8(ascii: "["))
        bytes += elements.joined(separator: ", ".utf8)
        bytes.append(UInt8(ascii: "]"))
    }

    /// Writes the tokens of a value unchanged, with new blanks between them.
    mutating func value(_ tokens: JSONTokens) {
        var rest = Array(tokens)[...]
        while let token = rest.popFirst() {
            switch token.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if let line = Self.line(token, &rest) {
                    bytes += line
                } else {
                    bytes += token
                    depth += 1
                    breakLine()
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                breakLine()
                bytes += token
            case UInt8(ascii: ","):
                bytes += token
                breakLine()
            case UInt8(ascii: ":"): bytes += ": ".utf8
            default: bytes += token
            }
        }
    }

    /// The list or object that begins here on one line, if it is small and holds no other list or object; it is then
    /// consumed.
    private static func line(_ open: ArraySlice<UInt8>, _ rest: inout ArraySlice<ArraySlice<UInt8>>) -> [UInt8]? {
        let blank: [UInt8] = open.first == UInt8(ascii: "{") ? [0x20] : []
        var line = Array(open)
        for index in rest.indices {
            let token = rest[index]
            switch token.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): return nil
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                line += index == rest.startIndex ? [] : blank
                line += token
                rest = rest[(index + 1)...]
                return line
            case UInt8(ascii: ","): line += ", ".utf8
            case UInt8(ascii: ":"): line += ": ".utf8
            default:
                line += index == rest.startIndex ? blank : []
                line += token
            }
            if line.count > lineLimit { return nil }
        }
        return nil
    }

    private mutating func breakLine() {
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: depth * 2))
    }
}
