import Decorum
import DecorumArchive

/// The members of an object in a cassette, each with the position of its value.
///
/// No name occurs twice.
struct CassetteMembers {
    private struct Member {
        /// Nil for a name that no member of the format can have.
        let name: MemberName?
        /// The range between the quotation marks of the name.
        let text: Range<Int>
        let value: Range<Int>
    }

    let bytes: [UInt8]
    private let start: Int
    private var members: [Member] = []

    /// The largest number of members, which no object of the format reaches.
    private static let limit = 64

    init(_ scanner: inout JSONScanner) throws {
        try self.init(scanner.bytes, in: scanner.skipValue())
    }

    /// Creates the members of an object in a range that is known to be JSON.
    init(_ bytes: [UInt8], in range: Range<Int>) throws {
        self.bytes = bytes
        var walk = KnownJSON(bytes, at: range.lowerBound)
        start = walk.position
        members.reserveCapacity(8)
        guard walk.skip(UInt8(ascii: "{")) else { throw fault("'{' is expected") }
        guard !walk.skip(UInt8(ascii: "}")) else { return }
        repeat {
            let text = walk.nameText()
            let name = MemberName(bytes, in: text)
            guard !holds(name, text) else { throw fault("the member \"\(self.text(text))\" occurs twice") }
            guard members.count < Self.limit else { throw fault("an object has more than \(Self.limit) members") }
            members.append(Member(name: name, text: text, value: walk.value()))
        } while walk.skip(UInt8(ascii: ","))
    }

    subscript(_ name: MemberName) -> Range<Int>? {
        for index in members.indices where members[index].name == name { return members[index].value }
        return nil
    }

    func contains(_ name: MemberName) -> Bool { self[name] != nil }

    func text(_ name: MemberName) throws -> String? {
        guard let range = self[name] else { return nil }
        var scanner = JSONScanner(bytes, range: range)
        return try scanner.string()
    }

    /// A text, or the elements of a list of texts.
    func lines(_ name: MemberName) throws -> [String] {
        guard let range = self[name] else { return [] }
        return try Self.lines(bytes, in: range)
    }

    /// The text in a range, or the elements of the list of texts in it.
    static func lines(_ bytes: [UInt8], in range: Range<Int>) throws -> [String] {
        var scanner = JSONScanner(bytes, range: range)
        guard try scanner.peek() == UInt8(ascii: "[") else { return [try scanner.string()] }
        var lines: [String] = []
        try scanner.array { lines.append(try $0.string()) }
        return lines
    }

    func integer(_ name: MemberName) throws -> Int? {
        guard let range = self[name] else { return nil }
        guard let number = Int(String(decoding: bytes[range], as: UTF8.self)) else {
            let digits = bytes[range].dropFirst().dropLast()
            let isText = bytes[range.lowerBound] == UInt8(ascii: "\"")
            let remedy = isText && !digits.isEmpty && digits.allSatisfy(\.isDigit) ? " without quotation marks" : ""
            throw fault("`\(name.text)` has to be a whole number" + remedy, at: name)
        }
        return number
    }

    func members(_ name: MemberName) throws -> CassetteMembers? {
        try self[name].map { try CassetteMembers(bytes, in: $0) }
    }

    /// An error at the object.
    func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: start) }

    /// An error at the value of a member.
    func fault(_ reason: String, at name: MemberName) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: self[name]?.lowerBound ?? start)
    }

    /// An error for a member that is missing, which names a member that looks like it with a wrong name.
    func missing(_ names: String..., reason: String? = nil) -> JSONSyntaxError {
        let misspelled = members.map { text($0.text) }.first { name in
            names.contains { SimilarName.isMisspelled(name, for: $0) }
        }
        let cause = misspelled.map { ", and the member `\($0)` is unknown" } ?? ""
        return fault((reason ?? "it has no `\(names.joined(separator: "` and no `"))`") + cause)
    }

    /// Throws for a member that has none of some names, but one that looks like one of them: it would be read as missing.
    ///
    /// Any other unknown member may be one of a later version.
    func refuseMisspelled(_ names: [MemberName]) throws {
        for member in members where !names.contains(where: { $0 == member.name }) {
            let found = text(member.text)
            guard let similar = names.first(where: { SimilarName.isMisspelled(found, for: $0.text) }) else { continue }
            throw JSONSyntaxError(
                reason: "the member `\(found)` is unknown; `\(similar.text)` is similar", offset: member.text.lowerBound
            )
        }
    }

    /// Whether a member has a name, which is compared as text only if it is none of the format.
    private func holds(_ name: MemberName?, _ text: Range<Int>) -> Bool {
        if let name { return self[name] != nil }
        return members.contains { $0.name == nil && self.text($0.text) == self.text(text) }
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: JSONText.unescape(bytes[range]), as: UTF8.self)
    }
}
