import Decorum
import Foundation

/// A value of a file, and its place in the file.
struct StoredNode: Sendable {
    let value: StoredValue
    /// The JSON path, such as `$.interactions[0].request`.
    let path: String

    init(_ value: StoredValue, path: String = "$") {
        self.value = value
        self.path = path
    }

    /// The member of that name; nil if absent or null.
    subscript(_ name: String) -> StoredNode? {
        guard let member = member(name), member.value.content != .null else { return nil }
        return member
    }

    /// The member of that name, which may be null; nil if absent.
    func member(_ name: String) -> StoredNode? {
        guard case .map(let members) = value.content, let member = members.first(where: { $0.name == name }) else {
            return nil
        }
        return StoredNode(member.value, path: path + "." + name)
    }

    /// The elements of a list; nil if this is not a list.
    var elements: [StoredNode]? {
        guard case .list(let elements) = value.content else { return nil }
        return elements.enumerated().map { StoredNode($1, path: "\(path)[\($0)]") }
    }

    /// The members of a mapping; nil if this is not a mapping.
    var members: [(name: String, node: StoredNode)]? {
        guard case .map(let members) = value.content else { return nil }
        return members.map { ($0.name, StoredNode($0.value, path: path + "." + $0.name)) }
    }

    /// The text of a scalar.
    var text: String? {
        switch value.content {
        case .string(let text), .literal(let text), .number(let text): text
        case .null, .list, .map: nil
        }
    }

    /// The integer that a scalar holds.
    var integer: Int? {
        guard let text else { return nil }
        return Int(text) ?? Double(text).flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    /// Its place in the file, in words.
    var place: String {
        guard let line = value.line else { return path }
        return "\(path), line \(line)"
    }

    /// The bytes of a scalar that a tag marks as binary; nil if there is no such tag, or the text is not base64.
    var taggedBytes: Data? {
        guard isBinary, let text else { return nil }
        return StorageEncoding.base64(text)
    }

    /// Whether a tag marks this as base64.
    var isBinary: Bool { value.tag == "binary" || value.tag == "!binary" }

    /// An error at this place.
    func fault(_ reason: String) -> ImportFault { ImportFault(place: place, reason: reason) }

    /// The member of that name, which is required.
    func required(_ name: String, as what: String) throws -> StoredNode {
        guard let node = self[name] else { throw fault("\(what) is missing") }
        return node
    }
}
