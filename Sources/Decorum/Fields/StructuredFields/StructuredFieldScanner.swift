import Foundation

/// Parses a structured field by the algorithms of RFC 9651, section 4.2.
///
/// Each byte of any input is read once or twice, and nothing nests deeper than an item in an inner list.
struct StructuredFieldScanner {
    let bytes: [UInt8]
    var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func wholeItem() throws(StructuredFieldError) -> StructuredItem {
        skipSpaces()
        let item = try item()
        skipSpaces()
        guard next == nil else { throw fault("there is text after the item") }
        return item
    }

    mutating func wholeList() throws(StructuredFieldError) -> [StructuredMember] {
        skipSpaces()
        var members: [StructuredMember] = []
        guard next != nil else { return members }
        repeat { members.append(try member()) } while try skipComma()
        return members
    }

    mutating func wholeDictionary() throws(StructuredFieldError) -> StructuredDictionary {
        skipSpaces()
        var dictionary = StructuredDictionary()
        guard next != nil else { return dictionary }
        repeat {
            let key = try key()
            let member = try skip(UInt8(ascii: "=")) ? member() : StructuredMember(true, parameters: parameters())
            dictionary.set(member, for: key)
        } while try skipComma()
        return dictionary
    }

    /// Consumes the separator between two members; returns whether another member follows.
    private mutating func skipComma() throws(StructuredFieldError) -> Bool {
        skipBlanks()
        guard next != nil else { return false }
        guard skip(UInt8(ascii: ",")) else { throw fault("a comma is expected") }
        skipBlanks()
        guard next != nil else { throw fault("nothing follows a comma") }
        return true
    }

    private mutating func member() throws(StructuredFieldError) -> StructuredMember {
        guard next == UInt8(ascii: "(") else { return .item(try item()) }
        return .innerList(try innerList())
    }

    private mutating func innerList() throws(StructuredFieldError) -> StructuredInnerList {
        position += 1
        var items: [StructuredItem] = []
        while true {
            skipSpaces()
            if skip(UInt8(ascii: ")")) { return StructuredInnerList(items, parameters: try parameters()) }
            guard next != nil else { throw fault("an inner list has no end") }
            items.append(try item())
            guard next == nil || next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else {
                throw fault("a blank or the end of an inner list is expected")
            }
        }
    }

    private mutating func item() throws(StructuredFieldError) -> StructuredItem {
        let value = try value()
        return StructuredItem(value, parameters: try parameters())
    }

    private mutating func parameters() throws(StructuredFieldError) -> StructuredParameters {
        var parameters = StructuredParameters()
        while skip(UInt8(ascii: ";")) {
            skipSpaces()
            let key = try key()
            parameters.set(try skip(UInt8(ascii: "=")) ? value() : true, for: key)
        }
        return parameters
    }

    private mutating func key() throws(StructuredFieldError) -> String {
        guard let first = next, first.startsStructuredKey else { throw fault("a key is expected") }
        return text { $0.continuesStructuredKey }
    }
}

extension StructuredFieldScanner {
    /// The next byte, which is not consumed.
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Consumes a byte if it is the next one.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Consumes the bytes that satisfy a condition; they have to be ASCII.
    mutating func text(while isPart: (UInt8) -> Bool) -> String {
        let start = position
        while let next, isPart(next) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    func fault(_ reason: String) -> StructuredFieldError { StructuredFieldError(reason: reason, offset: position) }

    private mutating func skipSpaces() {
        while next == UInt8(ascii: " ") { position += 1 }
    }

    private mutating func skipBlanks() {
        while next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { position += 1 }
    }
}

/// A structured field that cannot be parsed, or a value that cannot be serialized.
///
/// A field that cannot be parsed is treated as absent (RFC 9651, section 4.2). Neither the error nor its description
/// holds any part of the field.
public struct StructuredFieldError: DescribableError, Hashable {
    /// The problem, as one of a few clauses, suitable for a metric.
    public let reason: String
    /// The byte offset of the problem: in the value of the field, or in the text that was serialized so far.
    public let offset: Int
}

extension StructuredFieldError {
    /// A sentence that says what is wrong and where.
    public var description: String { "The structured field is invalid at byte \(offset): \(reason)." }
}
