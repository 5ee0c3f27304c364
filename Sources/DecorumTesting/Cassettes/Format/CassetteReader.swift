import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Reads the format "cassette 1": first the position of each interaction and the values by which it is found, and the
/// rest when it is played.
final class CassetteReader: Sendable {
    static let version = 1
    /// How to get a file back that is damaged as a whole, which no mode reads.
    static let remedy = "restore the file from version control, or delete it and record it again"

    /// The values by which an interaction is found.
    struct Entry: Sendable {
        let range: Range<Int>
        let request: Range<Int>
        let response: Range<Int>?
        let failure: Range<Int>?
        let day: Range<Int>?
        /// The tests that have recorded it; nil if it belongs to none.
        let tests: Range<Int>?
        let method: String
        let url: String
        /// Whether the request has content, or anything else beyond its target and its fields.
        let hasContent: Bool
    }

    let bytes: [UInt8]
    let entries: [Entry]
    private let cassette: URL
    private let files: CassetteFiles

    init(_ bytes: [UInt8], of cassette: URL) throws(CassetteError) {
        self.bytes = bytes
        self.cassette = cassette
        files = CassetteFiles(beside: cassette)
        entries = try Self.located(bytes, in: cassette) { try Self.entries(of: bytes) }
    }

    /// Whether a file is of this format, judged by its first member.
    static func recognizes(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        guard (try? scanner.expect(UInt8(ascii: "{"))) != nil, let name = try? scanner.string() else { return false }
        return name == "cassette"
    }

    func interaction(at index: Int) throws(CassetteError) -> Interaction {
        let outcome = try outcome(at: index)
        var interaction = Interaction(
            request: try request(at: index), response: outcome.response, failure: outcome.failure,
            recordedAt: recordedAt(index))
        interaction.tests = try Self.located(bytes, in: cassette, place: index) {
            try entries[index].tests.map { try CassetteMembers.lines(bytes, in: $0) } ?? []
        }
        return interaction
    }

    func outcome(at index: Int) throws(CassetteError) -> RecordedOutcome {
        try Self.located(bytes, in: cassette, place: index) {
            let entry = entries[index]
            if let range = entry.day { _ = try Self.day(bytes, in: range) }
            return RecordedOutcome(
                response: try entry.response.map { try Self.response(CassetteMembers(bytes, in: $0), files) },
                failure: try entry.failure.map { try Self.failure(CassetteMembers(bytes, in: $0)) }, ordinal: index)
        }
    }

    func request(at index: Int) throws(CassetteError) -> RecordedRequest {
        try Self.located(bytes, in: cassette, place: index) {
            let members = try CassetteMembers(bytes, in: entries[index].request)
            return RecordedRequest(
                method: entries[index].method, url: entries[index].url, fields: try members.fields("headers"),
                body: try RecordedContent.read(members, files: files), trailers: try members.fields("trailers"))
        }
    }

    /// Whether the content of a response ends before its end, because the recorder stopped there.
    func isCut(at index: Int) -> Bool {
        let failure = entries[index].failure.flatMap { try? Self.failure(CassetteMembers(bytes, in: $0)) }
        return failure?.isCut ?? false
    }

    func recordedAt(_ index: Int) -> Date? {
        entries[index].day.flatMap { try? Self.day(bytes, in: $0) }
    }

    func tests(of index: Int) -> [String] {
        entries[index].tests.flatMap { try? CassetteMembers.lines(bytes, in: $0) } ?? []
    }

    /// The paths of the files beside the cassette that interactions name, so far as they can be read.
    func files(of ordinals: Set<Int>) -> Set<String> {
        let messages = ordinals.flatMap { [entries[$0].request, entries[$0].response].compactMap(\.self) }
        let paths = messages.compactMap { try? CassetteMembers(bytes, in: $0).text("file") }
        return Set(paths.filter { files.contains($0) })
    }

    /// The line on which an interaction begins, counted from 1.
    func line(of index: Int) -> Int {
        JSONSyntaxError(reason: "", offset: entries[index].range.lowerBound).line(in: bytes)
    }

    private static func located<Value>(
        _ bytes: [UInt8], in cassette: URL, place index: Int? = nil, _ read: () throws -> Value
    ) throws(CassetteError) -> Value {
        do {
            return try read()
        } catch {
            let fault = error as? JSONSyntaxError
            let place = [fault.map { "line \($0.line(in: bytes))" }, index.map { "interactions[\($0)]" }]
            let reason = fault?.reason ?? "it cannot be read"
            throw CassetteError(
                file: cassette.relativePath, place: place.compactMap(\.self).joined(separator: ", "),
                reason: index != nil || (try? JSONValue(parsing: bytes)) != nil ? reason : "\(reason); \(remedy)")
        }
    }

    private static func entries(of bytes: [UInt8]) throws -> [Entry] {
        guard !bytes.isEmpty else { throw JSONSyntaxError(reason: "it is empty", offset: 0) }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw JSONSyntaxError(reason: "it is not UTF-8", offset: 0)
        }
        var scanner = JSONScanner(bytes)
        var members: [String: Range<Int>] = [:]
        var entries: [Entry] = []
        try scanner.object { name, scanner in
            guard members[name] == nil else { throw scanner.fault("the member \"\(name)\" occurs twice") }
            _ = try scanner.peek()
            let start = scanner.position
            if name == "interactions" {
                var (members, request) = (CassetteMembers(bytes), CassetteMembers(bytes))
                try scanner.array { entries.append(try entry(&$0, &members, &request)) }
            } else {
                _ = try scanner.skipValue()
            }
            members[name] = start..<scanner.position
            if name == "cassette" { try checkVersion(bytes, in: start..<scanner.position) }
        }
        try scanner.expectEnd()
        guard members["cassette"] != nil else { throw JSONSyntaxError(reason: "it has no version", offset: 0) }
        guard members["interactions"] != nil else {
            throw JSONSyntaxError(reason: "it has no list of interactions", offset: 0)
        }
        return entries
    }

    private static func checkVersion(_ bytes: [UInt8], in range: Range<Int>) throws {
        let found = Int(String(decoding: bytes[range], as: UTF8.self))
        guard found != version else { return }
        let reason =
            found.flatMap { $0 > version ? $0 : nil }.map {
                "its version is \($0): a later version of Decorum has written it, so update the package"
            } ?? "its version is not \(version), the only one that is known"
        throw JSONSyntaxError(reason: reason, offset: range.lowerBound)
    }

    private static func entry(
        _ scanner: inout JSONScanner, _ members: inout CassetteMembers, _ request: inout CassetteMembers
    ) throws -> Entry {
        try members.read(&scanner) { name, scanner in
            guard name == "request" else { return try scanner.skipValue() }
            try request.read(&scanner) { try $1.skipValue() }
            return request.range
        }
        guard members["request"] != nil else { throw members.missing("request") }
        guard let method = try request.text("method") else { throw request.missing("method") }
        guard let url = try request.text("url") else { throw request.missing("url") }
        let (response, failure) = (members["response"], members["error"])
        guard response != nil || failure != nil else {
            throw members.fault("it has neither a `response` nor an `error`")
        }
        return Entry(
            range: members.range, request: request.range, response: response, failure: failure, day: members["at"],
            tests: members["tests"], method: method, url: url,
            hasContent: request.count > (request["headers"] == nil ? 2 : 3))
    }

    private static func day(_ bytes: [UInt8], in range: Range<Int>) throws -> Date {
        guard bytes[range.lowerBound] == UInt8(ascii: "\""),
            let day = RecordedDay.date(bytes[range].dropFirst().dropLast())
        else {
            throw JSONSyntaxError(reason: "its day is not a valid date", offset: range.lowerBound)
        }
        return day
    }

    private static func response(_ members: CassetteMembers, _ files: CassetteFiles) throws -> RecordedResponse {
        RecordedResponse(
            status: try members.status(100...999, of: "its status"), reason: try members.text("reason") ?? "",
            fields: try members.fields("headers"),
            body: try RecordedContent.read(members, files: files), trailers: try members.fields("trailers"),
            informational: try interim(members), coding: try members.text("encoded"), chunks: try chunks(members))
    }

    private static func interim(_ members: CassetteMembers) throws -> [RecordedResponse.Interim] {
        try members.elements("interim").map { range in
            let response = try CassetteMembers(members.bytes, in: range)
            let status = try response.status(100...199, of: "the status of an interim response")
            return RecordedResponse.Interim(status: status, fields: try response.fields("headers"))
        }
    }

    private static func chunks(_ members: CassetteMembers) throws -> [RecordedResponse.Chunk] {
        try members.elements("chunks").map { range in
            let numbers = try? JSONValue(parsing: Array(members.bytes[range])).array?.map(\.integer)
            guard let numbers, numbers.count == 2, let pause = numbers[0], let length = numbers[1], pause >= 0,
                length >= 0
            else { throw JSONSyntaxError(reason: "a chunk is not two numbers", offset: range.lowerBound) }
            return RecordedResponse.Chunk(pause: pause, length: length)
        }
    }

    private static func failure(_ members: CassetteMembers) throws -> RecordedFailure {
        guard let kind = try members.text("kind") else { throw members.missing("kind") }
        guard let stage = RecordedFailure.Stage(rawValue: try members.text("after") ?? "head") else {
            throw members.fault("the stage of its error is unknown", at: "after")
        }
        return RecordedFailure(kind: kind, stage: stage)
    }
}

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
    private(set) var range = 0..<0
    private var members: [Member] = []

    /// The largest number of members, which no object of the format reaches.
    private static let limit = 64
    /// The largest number of fields, which no message reaches.
    private static let fieldLimit = 1000

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

    func lines(_ name: MemberName) throws -> [String] { try self[name].map { try Self.lines(bytes, in: $0) } ?? [] }

    /// The text in a range, or the elements of the list of texts in it.
    static func lines(_ bytes: [UInt8], in range: Range<Int>) throws -> [String] {
        var scanner = JSONScanner(bytes, range: range)
        var lines: [String] = []
        try readLines(&scanner) { lines.append($0) }
        return lines
    }

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

    func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: range.lowerBound) }

    func fault(_ reason: String, at name: MemberName) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: (self[name] ?? range).lowerBound)
    }

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

/// Content in the most readable form that still restores each byte: JSON, lines of text, base64, or a file.
enum RecordedContent {
    /// The longest content, in bytes, that is stored in the cassette as base64.
    static let inlineLimit = 4 << 10
    private static let columns = 76
    private static let latin = "iso-8859-1"

    static func write(
        _ body: RecordedBody, mediaType: String?, to page: inout JSONPage, files: inout CassetteFiles
    ) {
        guard !body.bytes.isEmpty else { return }
        let bytes = Array(body.bytes)
        if !writeJSON(bytes, to: &page), !writeText(bytes, mediaType: mediaType, to: &page) {
            if bytes.count <= inlineLimit {
                let text = body.bytes.base64EncodedString().utf8
                let lines = stride(from: 0, to: text.count, by: columns).map { start in
                    String(decoding: text.dropFirst(start).prefix(columns), as: UTF8.self)
                }
                page.member("base64", lines: lines)
            } else {
                page.member("file", files.add(body.bytes, mediaType: mediaType))
            }
        }
        if body.exactness != .exact { page.member("format", body.exactness.rawValue) }
    }

    private static func writeJSON(_ bytes: [UInt8], to page: inout JSONPage) -> Bool {
        var scanner = JSONScanner(bytes, range: bytes.indices)
        guard let range = try? scanner.skipValue(), range.lowerBound == 0,
            let ending = String(validating: bytes[range.upperBound...], as: UTF8.self),
            ["", "\n", "\r\n"].contains(ending), String(validating: bytes, as: UTF8.self) != nil,
            let layout = JSONLayout.allCases.first(where: { $0.written(bytes, in: range).elementsEqual(bytes[range]) })
        else { return false }
        page.member("json")
        page.value(bytes, in: range)
        if layout != .compact { page.member("layout", layout.rawValue) }
        if !ending.isEmpty { page.member("ending", ending) }
        return true
    }

    private static func writeText(_ bytes: [UInt8], mediaType: String?, to page: inout JSONPage) -> Bool {
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }) else {
            return false
        }
        let text = String(validating: bytes, as: UTF8.self)
        let isLatin = mediaType?.lowercased().filter { $0 != "\"" }.contains("charset=\(latin)") ?? false
        guard text != nil || isLatin else { return false }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text?.unicodeScalars ?? String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
        page.member(
            "text", lines: scalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) })
        if text == nil { page.member("charset", latin) }
        return true
    }

    private static let kinds: [(name: MemberName, text: String)] =
        [("base64", "base64"), ("file", "file"), ("json", "json"), ("text", "text")]

    static func read(_ members: CassetteMembers, files: CassetteFiles) throws -> RecordedBody {
        guard let kind = kinds.first(where: { members[$0.name] != nil })?.name else { return RecordedBody() }
        guard kinds.count(where: { members[$0.name] != nil }) == 1 else {
            let names = kinds.filter { members[$0.name] != nil }.map(\.text)
            throw members.fault("it has content twice, as \(names.joined(separator: " and "))")
        }
        let format = try members.text("format") ?? RecordedBody.Exactness.exact.rawValue
        guard let exactness = RecordedBody.Exactness(rawValue: format) else {
            throw members.fault("its format is unknown", at: "format")
        }
        return RecordedBody(try bytes(kind, members, files), exactness: exactness)
    }

    private static func bytes(_ kind: MemberName, _ members: CassetteMembers, _ files: CassetteFiles) throws -> Data {
        switch kind {
        case "json":
            guard let layout = try members.text("layout").map(JSONLayout.init(rawValue:)) ?? .compact,
                let range = members[kind]
            else { throw members.fault("its layout is unknown", at: "layout") }
            let content = layout.written(members.bytes, in: range)
            return Data(try members.text("ending").map { content + $0.utf8 } ?? content)
        case "text":
            let text = try members.lines(kind).joined(separator: "\n")
            guard let charset = try members.text("charset") else { return Data(text.utf8) }
            guard charset == latin, text.unicodeScalars.allSatisfy({ $0.value < 0x100 }) else {
                throw members.fault("its charset is unknown, or its text has other characters", at: "charset")
            }
            return Data(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        case "base64":
            guard let data = Data(base64Encoded: try members.lines(kind).joined()) else {
                throw members.fault("its base64 is not valid", at: "base64")
            }
            return data
        default: return try files.read(try members.text(kind) ?? "", members)
        }
    }
}

/// The blanks that a JSON document has between its tokens.
///
/// Nearly every server writes one of these layouts, so the tokens and the layout's name are enough to restore each byte.
enum JSONLayout: String, CaseIterable, Sendable {
    case compact
    case spaced
    case pretty2
    case pretty4
    case spacedMembers = ", :"
    case spacedValues = ",: "

    /// The document in a range, which is known to be JSON, in this layout.
    func written(_ bytes: [UInt8], in range: Range<Int>) -> [UInt8] {
        let (comma, colon, indentation) = blanks
        var output: [UInt8] = []
        output.reserveCapacity(range.count)
        var depth = 0
        var isEmpty = false
        func breakLine() {
            guard let indentation else { return }
            output.append(0x0A)
            output.append(contentsOf: repeatElement(0x20, count: depth * indentation))
        }
        var scanner = JSONScanner(bytes, range: range)
        while let token = try? scanner.token() {
            let token = bytes[token]
            let isOpening = token.first == UInt8(ascii: "{") || token.first == UInt8(ascii: "[")
            switch token.first {
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !isEmpty { breakLine() }
                output += token
            case UInt8(ascii: ","):
                output += comma.utf8
                breakLine()
            case UInt8(ascii: ":"): output += colon.utf8
            default:
                if isEmpty { breakLine() }
                output += token
                if isOpening { depth += 1 }
            }
            isEmpty = isOpening
        }
        return output
    }

    private var blanks: (comma: String, colon: String, indentation: Int?) {
        switch self {
        case .compact: (",", ":", nil)
        case .spaced: (", ", ": ", nil)
        case .pretty2: (",", ": ", 2)
        case .pretty4: (",", ": ", 4)
        case .spacedMembers: (", ", ":", nil)
        case .spacedValues: (",", ": ", nil)
        }
    }
}
