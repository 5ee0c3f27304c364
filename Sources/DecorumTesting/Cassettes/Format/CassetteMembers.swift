import Decorum
import DecorumArchive

/// The members of an object in a cassette, each with the position of its value.
///
/// No name occurs twice.
struct CassetteMembers {
    let bytes: [UInt8]
    private let start: Int
    private var members: [(name: String, range: Range<Int>)] = []

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
            let name = walk.name()
            guard !contains(name) else { throw fault("the member \"\(name)\" occurs twice") }
            guard members.count < Self.limit else { throw fault("an object has more than \(Self.limit) members") }
            members.append((name, walk.value()))
        } while walk.skip(UInt8(ascii: ","))
    }

    subscript(_ name: String) -> Range<Int>? {
        for member in members where member.name == name { return member.range }
        return nil
    }

    func contains(_ name: String) -> Bool { self[name] != nil }

    func text(_ name: String) throws -> String? {
        guard let range = self[name] else { return nil }
        var scanner = JSONScanner(bytes, range: range)
        return try scanner.string()
    }

    /// A text, or the elements of a list of texts.
    func lines(_ name: String) throws -> [String] {
        guard let range = self[name] else { return [] }
        var scanner = JSONScanner(bytes, range: range)
        guard try scanner.peek() == UInt8(ascii: "[") else { return [try scanner.string()] }
        var lines: [String] = []
        try scanner.array { lines.append(try $0.string()) }
        return lines
    }

    func integer(_ name: String) throws -> Int? {
        guard let range = self[name] else { return nil }
        guard let number = Int(String(decoding: bytes[range], as: UTF8.self)) else {
            throw JSONSyntaxError(reason: "a whole number is expected", offset: range.lowerBound)
        }
        return number
    }

    func members(_ name: String) throws -> CassetteMembers? {
        try self[name].map { try CassetteMembers(bytes, in: $0) }
    }

    /// An error at the object.
    func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: start) }
}
