import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The members of an object in a cassette, each with the position of its value.
///
/// No name occurs twice, because other readers would take the other one.
struct CassetteMembers {
    let bytes: [UInt8]
    private let start: Int
    private var members: [(name: String, value: Range<Int>)] = []

    /// The largest number of members, which no object of the format reaches.
    private static let limit = 64
    /// The largest number of fields, which no message reaches.
    private static let fieldLimit = 1000

    init(_ bytes: [UInt8], in range: Range<Int>) throws {
        self.bytes = bytes
        start = range.lowerBound
        var scanner = JSONScanner(bytes, range: range)
        try scanner.object { name, scanner in
            guard self[name] == nil else { throw fault("the member \"\(name)\" occurs twice") }
            guard members.count < Self.limit else { throw fault("an object has more than \(Self.limit) members") }
            members.append((name, try scanner.skipValue()))
        }
    }

    var names: [String] { members.map(\.name) }

    subscript(_ name: String) -> Range<Int>? { members.first { $0.name == name }?.value }

    func text(_ name: String) throws -> String? {
        guard let range = self[name] else { return nil }
        var scanner = JSONScanner(bytes, range: range)
        return try scanner.string()
    }

    /// A text, or the elements of a list of texts.
    func lines(_ name: String) throws -> [String] { try self[name].map { try Self.lines(bytes, in: $0) } ?? [] }

    /// The text in a range, or the elements of the list of texts in it.
    static func lines(_ bytes: [UInt8], in range: Range<Int>) throws -> [String] {
        var scanner = JSONScanner(bytes, range: range)
        guard try scanner.peek() == UInt8(ascii: "[") else { return [try scanner.string()] }
        var lines: [String] = []
        try scanner.array { lines.append(try $0.string()) }
        return lines
    }

    /// The positions of the elements of a list; empty if it is absent.
    func elements(_ name: String) throws -> [Range<Int>] {
        guard let range = self[name] else { return [] }
        var scanner = JSONScanner(bytes, range: range)
        var elements: [Range<Int>] = []
        try scanner.array { elements.append(try $0.skipValue()) }
        return elements
    }

    func integer(_ name: String) throws -> Int? {
        guard let range = self[name] else { return nil }
        guard let number = Int(String(decoding: bytes[range], as: UTF8.self)) else {
            throw fault("`\(name)` has to be a whole number", at: name)
        }
        return number
    }

    /// Header fields as an object: a text, or a list if a name occurs more than once.
    func fields(_ name: String) throws -> HTTPFields {
        var fields = HTTPFields()
        guard let range = self[name] else { return fields }
        var scanner = JSONScanner(bytes, range: range)
        try scanner.object { text, scanner in
            guard let name = HTTPField.Name(text) else { throw scanner.fault("the name of a field is not valid") }
            guard !fields.contains(name) else { throw scanner.fault("a field occurs twice; use a list") }
            for value in try Self.lines(bytes, in: scanner.skipValue()) {
                guard fields.count < Self.fieldLimit else {
                    throw scanner.fault("a message has more than \(Self.fieldLimit) fields")
                }
                guard HTTPField.isValidValue(value) else { throw scanner.fault("the value of a field is not valid") }
                fields.append(HTTPField(name: name, value: value))
            }
        }
        return fields
    }

    /// An error at the object.
    func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: start) }

    /// An error at the value of a member.
    func fault(_ reason: String, at name: String) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: self[name]?.lowerBound ?? start)
    }

    /// An error for a member that is missing.
    func missing(_ name: String) -> JSONSyntaxError { fault("it has no `\(name)`") }
}

/// The day of a recording, as in `2026-11-20`; a time of day would change the file each time.
enum RecordedDay {
    /// The day of a date, in UTC.
    static func text(_ date: Date) -> String { String(HARDate.text(date).prefix(10)) }

    /// The beginning of a day, in UTC; nil for another text.
    static func date(_ text: String) -> Date? { text.utf8.count == 10 ? HARDate.date(text) : nil }
}
