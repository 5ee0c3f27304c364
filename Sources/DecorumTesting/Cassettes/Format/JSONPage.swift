import Decorum
import DecorumArchive
import HTTPTypes

/// A JSON document while it is written, which is readable and changes little: one leaf on a line, and small lists and
/// objects on one line.
struct JSONPage {
    private(set) var bytes: [UInt8] = []
    private var depth = 0
    private var isFirst = true

    /// The longest list or object, in bytes, that is kept on one line.
    private static let lineLimit = 60

    /// Writes an object over several lines; the closure writes its members.
    mutating func object(_ members: (inout JSONPage) throws -> Void) rethrows {
        try container("{", "}", members)
    }

    /// Writes an array over several lines; the closure writes an element.
    mutating func array<Element>(
        _ elements: [Element], _ write: (Element, inout JSONPage) throws -> Void
    ) rethrows {
        try container("[", "]") { page in
            for element in elements {
                page.beginPart()
                try write(element, &page)
            }
        }
    }

    private mutating func container(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ content: (inout JSONPage) throws -> Void
    ) rethrows {
        bytes.append(UInt8(ascii: open))
        depth += 1
        isFirst = true
        try content(&self)
        depth -= 1
        if !isFirst { breakLine() }
        isFirst = false
        bytes.append(UInt8(ascii: close))
    }

    /// Begins a member; its value has to follow.
    mutating func member(_ name: String) {
        beginPart()
        bytes += JSONText.quoted(name) + [UInt8(ascii: ":"), 0x20]
    }

    mutating func member(_ name: String, _ text: String) {
        member(name)
        bytes += JSONText.quoted(text)
    }

    mutating func member(_ name: String, _ number: Int) {
        member(name)
        bytes += String(number).utf8
    }

    /// Writes a text, or a list of texts if there are several.
    mutating func member(_ name: String, lines: [String]) {
        guard lines.count > 1 else { return member(name, lines.first ?? "") }
        member(name)
        array(lines) { $1.bytes += JSONText.quoted($0) }
    }

    /// Writes header fields as an object if there are any: a text, or a list if a name occurs more than once.
    mutating func member(_ name: String, _ fields: HTTPFields) {
        guard !fields.isEmpty else { return }
        member(name)
        object { page in
            var written: Set<HTTPField.Name> = []
            for field in fields where written.insert(field.name).inserted {
                page.member(field.name.rawName, lines: fields[values: field.name])
            }
        }
    }

    private mutating func beginPart() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        breakLine()
    }

    /// Writes a value that was written at the same depth before.
    mutating func text(_ value: ArraySlice<UInt8>) { bytes += value }

    /// Writes a list on one line, whatever its length.
    mutating func line(_ elements: [[UInt8]]) {
        bytes += Array("[".utf8) + elements.joined(separator: ", ".utf8) + Array("]".utf8)
    }

    /// Writes the tokens of a value unchanged, with new blanks between them.
    mutating func value(_ document: [UInt8], in range: Range<Int>) {
        var scanner = JSONScanner(document, range: range)
        while let token = try? scanner.token() {
            let text = document[token]
            switch text.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                var ahead = scanner
                if let line = Self.line(text, &ahead) {
                    bytes += line
                    scanner = ahead
                } else {
                    bytes += text
                    depth += 1
                    breakLine()
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                breakLine()
                bytes += text
            case UInt8(ascii: ","):
                bytes += text
                breakLine()
            case UInt8(ascii: ":"): bytes += ": ".utf8
            default: bytes += text
            }
        }
    }

    /// Consumes the list or object that begins here, and returns it on one line; nil if it is long, or holds another one.
    private static func line(_ open: ArraySlice<UInt8>, _ scanner: inout JSONScanner) -> [UInt8]? {
        let blank: [UInt8] = open.first == UInt8(ascii: "{") ? [0x20] : []
        var line = Array(open)
        while line.count <= lineLimit, let token = try? scanner.token() {
            let text = scanner.bytes[token]
            let isFirst = line.count == 1
            switch text.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): return nil
            case UInt8(ascii: "}"), UInt8(ascii: "]"): return line + (isFirst ? [] : blank) + text
            case UInt8(ascii: ","): line += ", ".utf8
            case UInt8(ascii: ":"): line += ": ".utf8
            default: line += (isFirst ? blank : []) + text
            }
        }
        return nil
    }

    private mutating func breakLine() {
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: depth * 2))
    }
}
