import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The members of an object in a cassette, each with the position of its value.
///
/// No name occurs twice, because other readers would take the other one.
struct CassetteMembers {
    private struct Member {
        let name: MemberName
        /// The range between the quotation marks of the name.
        let text: Range<Int>
        let value: Range<Int>
    }

    let bytes: [UInt8]
    /// The position of the object.
    private(set) var range = 0..<0
    private var members: [Member] = []

    /// The largest number of members, which no object of the format reaches.
    private static let limit = 64
    /// The largest number of fields, which no message reaches.
    private static let fieldLimit = 1000

    /// Creates a list that is empty until an object is read into it.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        members.reserveCapacity(8)
    }

    init(_ bytes: [UInt8], in range: Range<Int>) throws {
        self.init(bytes)
        var scanner = JSONScanner(bytes, range: range)
        try read(&scanner) { try $1.skipValue() }
    }

    /// Reads an object in place of the one before; the closure consumes the value of each member, and returns its position.
    mutating func read(
        _ scanner: inout JSONScanner, _ value: (_ name: MemberName, _ scanner: inout JSONScanner) throws -> Range<Int>
    ) throws {
        _ = try scanner.peek()
        range = scanner.position..<scanner.position
        members.removeAll(keepingCapacity: true)
        try scanner.members { text, scanner in
            let isEscaped = bytes[text].contains(UInt8(ascii: "\\"))
            let name = isEscaped ? MemberName(JSONText.unescape(bytes[text])) : MemberName(bytes[text])
            guard !holds(name, text) else { throw fault("the member \"\(self.text(text))\" occurs twice") }
            guard members.count < Self.limit else { throw fault("an object has more than \(Self.limit) members") }
            members.append(Member(name: name, text: text, value: try value(name, &scanner)))
        }
        range = range.lowerBound..<scanner.position
    }

    var count: Int { members.count }

    subscript(_ name: MemberName) -> Range<Int>? { members.first { $0.name == name }?.value }

    private func holds(_ name: MemberName, _ text: Range<Int>) -> Bool {
        members.contains { $0.name == name && (name != .unknown || self.text($0.text) == self.text(text)) }
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: JSONText.unescape(bytes[range]), as: UTF8.self)
    }

    func text(_ name: MemberName) throws -> String? {
        guard let range = self[name] else { return nil }
        var scanner = JSONScanner(bytes, range: range)
        return try scanner.string()
    }

    /// A text, or the elements of a list of texts.
    func lines(_ name: MemberName) throws -> [String] { try self[name].map { try Self.lines(bytes, in: $0) } ?? [] }

    /// The text in a range, or the elements of the list of texts in it.
    static func lines(_ bytes: [UInt8], in range: Range<Int>) throws -> [String] {
        var scanner = JSONScanner(bytes, range: range)
        var lines: [String] = []
        try readLines(&scanner) { lines.append($0) }
        return lines
    }

    /// Passes a text, or each element of a list of texts.
    private static func readLines(_ scanner: inout JSONScanner, _ line: (String) throws -> Void) throws {
        guard try scanner.peek() == UInt8(ascii: "[") else { return try line(scanner.string()) }
        try scanner.array { try line($0.string()) }
    }

    /// The positions of the elements of a list; empty if it is absent.
    func elements(_ name: MemberName) throws -> [Range<Int>] {
        guard let range = self[name] else { return [] }
        var scanner = JSONScanner(bytes, range: range)
        var elements: [Range<Int>] = []
        try scanner.array { elements.append(try $0.skipValue()) }
        return elements
    }

    /// The code of a status, which has to be in a range.
    func status(_ limits: ClosedRange<Int>, of message: String) throws -> Int {
        guard let range = self["status"] else { throw missing("status") }
        guard let status = Int(String(decoding: bytes[range], as: UTF8.self)) else {
            throw fault("`status` has to be a whole number", at: "status")
        }
        guard limits.contains(status) else {
            throw fault("\(message) is not a number from \(limits.lowerBound) to \(limits.upperBound)", at: "status")
        }
        return status
    }

    /// Header fields as an object: a text, or a list if a name occurs more than once.
    func fields(_ name: MemberName) throws -> HTTPFields {
        var fields = HTTPFields()
        guard let range = self[name] else { return fields }
        var scanner = JSONScanner(bytes, range: range)
        try scanner.object { text, scanner in
            guard let name = HTTPField.Name(text) else { throw scanner.fault("the name of a field is not valid") }
            guard !fields.contains(name) else { throw scanner.fault("a field occurs twice; use a list") }
            let start = scanner.position
            func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: start) }
            try Self.readLines(&scanner) { value in
                guard fields.count < Self.fieldLimit else {
                    throw fault("a message has more than \(Self.fieldLimit) fields")
                }
                guard HTTPField.isValidValue(value) else { throw fault("the value of a field is not valid") }
                fields.append(HTTPField(name: name, value: value))
            }
        }
        return fields
    }

    /// An error at the object.
    func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: range.lowerBound) }

    /// An error at the value of a member.
    func fault(_ reason: String, at name: MemberName) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: (self[name] ?? range).lowerBound)
    }

    /// An error for a member that is missing.
    func missing(_ name: String) -> JSONSyntaxError { fault("it has no `\(name)`") }
}

/// The name of a member of an object in a cassette, as one number, because comparing texts would take most of the time.
///
/// The members of these objects have names of at most eight bytes; a longer name is unknown.
struct MemberName: Equatable, Sendable, ExpressibleByStringLiteral {
    static let unknown = MemberName("".utf8)

    private let word: UInt64

    init(stringLiteral text: StaticString) {
        word = text.withUTF8Buffer { unsafe Self.word(of: $0) }
    }

    init(_ text: some Collection<UInt8>) {
        word = Self.word(of: text)
    }

    private static func word(of text: some Collection<UInt8>) -> UInt64 {
        text.count > 8 || text.contains(0) ? 0 : text.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The day of a recording, as in `2026-11-20`; a time of day would change the file each time.
enum RecordedDay {
    /// The day of a date, in UTC.
    static func text(_ date: Date) -> String { String(HARDate.text(date).prefix(10)) }

    /// The beginning of a day, in UTC; nil for another text.
    static func date(_ text: ArraySlice<UInt8>) -> Date? {
        guard text.count == 10 else { return nil }
        var number = 0
        for (place, byte) in text.enumerated() {
            let isMark = place == 4 || place == 7
            guard isMark ? byte == UInt8(ascii: "-") : byte.isDigit else { return nil }
            if !isMark { number = number * 10 + Int(byte - UInt8(ascii: "0")) }
        }
        let day = CivilDate(year: number / 10_000, month: number / 100 % 100, day: number % 100)
        return (1...12).contains(day.month) && (1...day.daysInMonth).contains(day.day)
            ? Date(timeIntervalSince1970: Double(day.seconds)) : nil
    }
}
