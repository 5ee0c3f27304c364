import Decorum
import DecorumArchive
package import Foundation

/// A value of a file of JSON or YAML, and its place in the file.
///
/// Types are not resolved: a number and a Boolean have a ``text`` as a string does, since files of YAML rarely say which
/// of them they mean.
public struct StoredNode: Sendable {
    package enum Content: Sendable {
        case null
        /// A number of JSON, as it is written.
        case number(String)
        /// A Boolean of JSON, or a plain scalar of YAML, whose type is not resolved.
        case literal(String)
        case string(String)
        case list([StoredNode])
        case map([(name: String, node: StoredNode)])
    }

    package let content: Content
    /// The tag without its exclamation marks, such as `binary`; it is a label without effect.
    package let tag: String?
    /// The line on which the value begins, counted from 1; nil if it is not known.
    public let line: Int?
    /// Whether the text had half of a surrogate pair, which became U+FFFD.
    let hasLoneSurrogate: Bool
    /// The JSON path, such as `$.interactions[0].request`.
    public private(set) var path: String

    package init(
        _ content: Content, tag: String? = nil, line: Int?, hasLoneSurrogate: Bool = false, path: String = "$"
    ) {
        (self.content, self.tag, self.line) = (content, tag, line)
        (self.hasLoneSurrogate, self.path) = (hasLoneSurrogate, path)
    }

    private func at(_ step: String, of parent: StoredNode) -> StoredNode {
        var node = self
        node.path = parent.path + step
        return node
    }

    /// The member of that name; nil if absent or null.
    public subscript(_ name: String) -> StoredNode? {
        guard let member = member(name) else { return nil }
        if case .null = member.content { return nil }
        return member
    }

    /// The member of that name, which may be null; nil if absent.
    public func member(_ name: String) -> StoredNode? {
        guard case .map(let members) = content else { return nil }
        return members.first { $0.name == name }?.node.at("." + name, of: self)
    }

    /// The elements of a list; nil if this is not a list.
    public var elements: [StoredNode]? {
        guard case .list(let elements) = content else { return nil }
        return elements.enumerated().map { $1.at("[\($0)]", of: self) }
    }

    /// The first element of a list; nil if it is empty, or this is not a list.
    package var first: StoredNode? {
        guard case .list(let elements) = content else { return nil }
        return elements.first?.at("[0]", of: self)
    }

    /// The members of a mapping; nil if this is not a mapping.
    public var members: [(name: String, node: StoredNode)]? {
        guard case .map(let members) = content else { return nil }
        return members.map { ($0.name, $0.node.at("." + $0.name, of: self)) }
    }

    /// The text of a scalar.
    public var text: String? {
        switch content {
        case .string(let text), .literal(let text), .number(let text): text
        case .null, .list, .map: nil
        }
    }

    /// The integer that a scalar holds.
    public var integer: Int? {
        guard let text else { return nil }
        return Int(text) ?? Double(text).flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    /// The date that a scalar holds: seconds since 1970, ISO 8601, or a date of HTTP.
    package var date: Date? {
        guard let text else { return nil }
        if let seconds = Double(text) { return seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil }
        return HARDate.date(text) ?? HTTPDate(text, at: Date(timeIntervalSince1970: 2_000_000_000)).map(\.date)
    }

    /// Its place in the file, in words: the path, and the line if it is known.
    public var place: String { path + (line.map { ", line \($0)" } ?? "") }

    package var isBinary: Bool { tag == "binary" || tag == "!binary" }

    /// Creates an error at this place.
    ///
    /// - Parameter reason: The cause, as a clause without a secret.
    /// - Returns: The error, to be thrown.
    public func fault(_ reason: String) -> CassetteImportError {
        CassetteImportError(place: place, line: line, reason: reason)
    }

    /// The result of a closure, whose error gets this place unless it already has one.
    func locating<Result>(
        _ body: () throws(CassetteImportError) -> Result
    ) throws(CassetteImportError) -> Result {
        do throws(CassetteImportError) { return try body() } catch {
            throw error.place == nil ? fault(error.reason) : error
        }
    }

    /// Returns the member of that name, which is required.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - what: The meaning of the member, such as `the request`, for the error.
    /// - Returns: The member.
    /// - Throws: ``CassetteImportError`` if it is absent or null.
    public func required(_ name: String, as what: String) throws(CassetteImportError) -> StoredNode {
        guard let node = self[name] else { throw fault("\(what) is missing") }
        return node
    }

    /// Returns the elements of the member of that name, which has to be a list.
    package func list(_ name: String) throws(CassetteImportError) -> [StoredNode] {
        let list = try required(name, as: "the list of interactions")
        guard let elements = list.elements else { throw list.fault("a list is expected") }
        return elements
    }

    /// The value at a path below this one, such as `.entries[3].request`.
    ///
    /// If it is absent, the result is null on the line of the nearest value around it.
    package func at(_ path: String) -> StoredNode {
        var node: StoredNode? = self
        var line = line
        for step in path.split(whereSeparator: { ".[]".contains($0) }) {
            switch node?.content {
            case .map(let members): node = members.first { $0.name == step }?.node
            case .list(let elements): node = Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            default: node = nil
            }
            line = node?.line ?? line
        }
        return (node ?? StoredNode(.null, line: line)).at(path, of: self)
    }
}

extension StoredNode {
    /// The value as JSON; a plain scalar gets the type that it has for the tools that write such files.
    var json: JSONValue {
        switch content {
        case .null: .null
        case .string(let text): .string(text)
        case .number(let digits): .number(digits)
        case .literal("true"): .bool(true)
        case .literal("false"): .bool(false)
        case .literal(let text): Self.isNumber(text) ? .number(text) : .string(text)
        case .list(let elements): .array(elements.map(\.json))
        case .map(let members): .object(members.map { JSONValue.Member($0.name, $0.node.json) })
        }
    }

    /// Whether a literal is a number both in JSON and in YAML 1.1, where an exponent needs a point and a sign.
    private static func isNumber(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first),
            case .number? = try? JSONValue(parsing: Array(text.utf8))
        else { return false }
        return !text.contains { $0 == "e" || $0 == "E" }
            || text.contains(".") && text.contains { $0 == "-" || $0 == "+" }
    }

    /// Reads JSON, within the number of values that the budget has left.
    init(parsing bytes: [UInt8], within budget: inout ImportBudget) throws(CassetteImportError) {
        do {
            var scanner = JSONScanner(bytes, countLimit: budget.count)
            var lines = (line: 1, end: 0)
            self = try StoredNode(reading: &scanner, &lines)
            try scanner.expectEnd()
            try budget.spend(values: scanner.count)
        } catch {
            let error = error as? JSONSyntaxError
            throw CassetteImportError(
                line: error?.line(in: bytes) ?? 1, reason: "it is not JSON: \(error?.reason ?? "it cannot be read")")
        }
    }

    private init(reading scanner: inout JSONScanner, _ lines: inout (line: Int, end: Int)) throws {
        let first = try scanner.peek()
        let start = scanner.position
        lines.line += scanner.bytes[lines.end..<start].count { $0 == 0x0A }
        lines.end = start
        let line = lines.line
        switch first {
        case UInt8(ascii: "{"):
            var members: [(name: String, node: StoredNode)] = []
            try scanner.object { name, scanner in members.append((name, try StoredNode(reading: &scanner, &lines))) }
            self.init(.map(members), line: line)
        case UInt8(ascii: "["):
            var elements: [StoredNode] = []
            try scanner.array { elements.append(try StoredNode(reading: &$0, &lines)) }
            self.init(.list(elements), line: line)
        case UInt8(ascii: "\""):
            let text = try scanner.string()
            let isHalf = JSONText.hasLoneSurrogate(scanner.bytes[start + 1..<scanner.position - 1])
            self.init(.string(text), line: line, hasLoneSurrogate: isHalf)
        default:
            let text = String(decoding: scanner.bytes[try scanner.skipValue()], as: UTF8.self)
            let isNumber = !["null", "true", "false"].contains(text)
            self.init(text == "null" ? .null : isNumber ? .number(text) : .literal(text), line: line)
        }
    }
}
