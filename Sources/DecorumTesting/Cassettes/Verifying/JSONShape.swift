import Decorum
import DecorumArchive
import Foundation

/// The shape of a JSON value: its members and their kinds, without their values.
indirect enum JSONShape: Hashable {
    case null
    case bool
    case number
    case string
    /// The merged shape of the elements; nil for an empty array.
    case array(JSONShape?)
    /// The merged shapes of members, and the names of members that some of the merged objects lack.
    case object([String: JSONShape], absent: Set<String>)
    /// Values of different kinds in the elements of one array, one of each kind.
    case mixed(Set<JSONShape>)

    init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool: self = .bool
        case .number: self = .number
        case .string: self = .string
        case .array(let elements):
            let shapes = elements.map(JSONShape.init)
            self = .array(shapes.dropFirst().reduce(shapes.first) { $0?.united(with: $1) })
        case .object(let members):
            self = .object(Dictionary(members.map { ($0.name, JSONShape($0.value)) }) { first, _ in first }, absent: [])
        }
    }

    /// The shape of content; nil if it is no JSON.
    init?(of content: Data) {
        guard let value = try? JSONValue(parsing: Array(content)) else { return nil }
        self.init(value)
    }

    /// The merged shape of the data of the events in a stream, as an array; nil unless an event has JSON.
    init?(ofEvents stream: Data) {
        let values = EventLines.data(in: Array(stream)).compactMap { try? JSONValue(parsing: $0) }
        guard !values.isEmpty else { return nil }
        self.init(.array(values))
    }

    private func united(with other: JSONShape) -> JSONShape {
        switch (self, other) {
        case (let shape, other) where shape == other: return self
        case (.object(let old, let oldAbsent), .object(let new, let newAbsent)):
            let absent = Set(old.keys).symmetricDifference(new.keys)
            return .object(
                old.merging(new) { $0.united(with: $1) }, absent: absent.union(oldAbsent).union(newAbsent))
        case (.array(let old), .array(let new)):
            return .array(old.map { old in new.map { old.united(with: $0) } ?? old } ?? new)
        default:
            let shapes = kinds.merging(other.kinds) { $0.united(with: $1) }
            return .mixed(Set(shapes.values))
        }
    }

    /// The shapes by the names of their kinds.
    private var kinds: [String: JSONShape] {
        guard case .mixed(let shapes) = self else { return [name: self] }
        return Dictionary(shapes.map { ($0.name, $0) }) { $0.united(with: $1) }
    }

    /// The differences in shape between a live value and the recorded one, as lines with a JSON path.
    func drift(to live: JSONShape, path: String = "$") -> [String] {
        switch (self, live) {
        case (let shape, live) where shape == live: return []
        case (.object(let old, let oldAbsent), .object(let new, let newAbsent)):
            let lost = newAbsent.subtracting(oldAbsent)
            return Set(old.keys).union(new.keys).sorted().flatMap { name in
                let path = "\(path).\(name)"
                guard let old = old[name] else { return ["\(path)  is new: \(new[name]?.name ?? "")"] }
                guard let new = new[name] else { return ["\(path)  is missing: was \(old.name)"] }
                return (lost.contains(name) ? ["\(path)  is missing in some elements: was in all"] : [])
                    + old.drift(to: new, path: path)
            }
        case (.array(let old?), .array(let new?)): return old.drift(to: new, path: "\(path)[*]")
        // An empty array matches the shape of any array.
        case (.array, .array): return []
        case (.mixed, .mixed) where name == live.name:
            let new = live.kinds
            return kinds.sorted { $0.key < $1.key }.flatMap { name, shape in
                new[name].map { shape.drift(to: $0, path: path) } ?? []
            }
        default: return ["\(path)  was \(name), is \(live.name)"]
        }
    }

    private var name: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        case .mixed(let shapes): shapes.map(\.name).sorted().joined(separator: " or ")
        }
    }
}
