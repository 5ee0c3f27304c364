import Decorum
import Foundation

/// A value of a file of JSON or YAML, and its place in the file.
///
/// Types are not resolved: a number and a Boolean have a ``text`` as a string does, since files of YAML rarely say which
/// of them they mean.
public struct StoredNode: Sendable {
    let value: StoredValue
    /// The JSON path, such as `$.interactions[0].request`.
    public let path: String

    init(_ value: StoredValue, path: String = "$") {
        self.value = value
        self.path = path
    }

    /// The line on which the value begins, counted from 1; nil if it is not known.
    public var line: Int? { value.line }

    /// The member of that name; nil if absent or null.
    public subscript(_ name: String) -> StoredNode? {
        guard let member = member(name), member.value.content != .null else { return nil }
        return member
    }

    /// The member of that name, which may be null; nil if absent.
    public func member(_ name: String) -> StoredNode? {
        guard case .map(let members) = value.content, let member = members.first(where: { $0.name == name }) else {
            return nil
        }
        return StoredNode(member.value, path: path + "." + name)
    }

    /// The elements of a list; nil if this is not a list.
    public var elements: [StoredNode]? {
        guard case .list(let elements) = value.content else { return nil }
        return elements.enumerated().map { StoredNode($1, path: "\(path)[\($0)]") }
    }

    /// The first element of a list; nil if it is empty, or no list.
    var first: StoredNode? {
        guard case .list(let elements) = value.content, let first = elements.first else { return nil }
        return StoredNode(first, path: path + "[0]")
    }

    /// The members of a mapping; nil if this is not a mapping.
    public var members: [(name: String, node: StoredNode)]? {
        guard case .map(let members) = value.content else { return nil }
        return members.map { ($0.name, StoredNode($0.value, path: path + "." + $0.name)) }
    }

    /// The text of a scalar.
    public var text: String? {
        switch value.content {
        case .string(let text), .literal(let text), .number(let text): text
        case .null, .list, .map: nil
        }
    }

    /// The integer that a scalar holds.
    public var integer: Int? {
        guard let text else { return nil }
        return Int(text) ?? Double(text).flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    /// Its place in the file, in words: the path, and the line if it is known.
    public var place: String { location.description }

    var location: ImportPlace { ImportPlace(path: path, line: line) }

    /// The value at a path below this one, such as `.entries[3].request`.
    ///
    /// If it is absent, the result is null on the line of the nearest value around it.
    func at(_ path: String) -> StoredNode {
        var value: StoredValue? = value
        var line = value?.line
        for step in path.split(whereSeparator: { ".[]".contains($0) }) {
            switch value?.content {
            case .map(let members): value = members.first { $0.name == step }?.value
            case .list(let elements): value = Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            default: value = nil
            }
            line = value?.line ?? line
        }
        return StoredNode(value ?? StoredValue(content: .null, line: line), path: self.path + path)
    }

    /// The bytes of a scalar that a tag marks as binary; nil if there is no such tag, or the text is not base64.
    var taggedBytes: Data? {
        guard isBinary, let text else { return nil }
        return StorageEncoding.base64(text)
    }

    /// Whether a tag marks this as base64.
    var isBinary: Bool { value.tag == "binary" || value.tag == "!binary" }

    /// Creates an error at this place.
    ///
    /// - Parameter reason: The cause, as a clause without a secret.
    /// - Returns: The error, to be thrown.
    public func fault(_ reason: String) -> ImportFault { ImportFault(place: place, line: line, reason: reason) }

    /// Returns the member of that name, which is required.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - what: The meaning of the member, such as `the request`, for the error.
    /// - Returns: The member.
    /// - Throws: ``ImportFault`` if it is absent or null.
    public func required(_ name: String, as what: String) throws(ImportFault) -> StoredNode {
        guard let node = self[name] else { throw fault("\(what) is missing") }
        return node
    }
}
