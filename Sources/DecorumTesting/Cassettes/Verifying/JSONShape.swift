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
    /// The merged shapes of members, and the names of those that some of the merged objects lack.
    case object([String: JSONShape], absent: Set<String>)
    /// Values of different kinds in the elements of one array, one of each kind.
    case mixed(Set<JSONShape>)

    /// The largest number of members that are named.
    private static let shownCount = 5

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

    /// The merged shape of the data of the events in a stream, as an array; nil if none is JSON.
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
            if let name = envelope(in: new), let content = new[name] {
                let others = new.sorted { $0.key < $1.key }.filter { $0.key != name }
                return ["\(path)  is now in \(path).\(name)" + (newAbsent.contains(name) ? ", in some elements" : "")]
                    + others.map { $1.newLine(at: "\(path).\($0)") } + drift(to: content, path: "\(path).\(name)")
            }
            let names = Set(old.keys).union(new.keys).sorted()
            let lost = newAbsent.subtracting(oldAbsent)
            return names.flatMap { name in
                switch (old[name], new[name]) {
                case (let old?, let new?):
                    (lost.contains(name) ? ["\(path).\(name)  is missing in some elements: was in all"] : [])
                        + old.drift(to: new, path: "\(path).\(name)")
                case (nil, let new?): [new.newLine(at: "\(path).\(name)")]
                case (let old?, nil): ["\(path).\(name)  is missing: was \(old.name)"]
                case (nil, nil): [] as [String]
                }
            }
        case (.array(let old?), .array(let new?)): return old.drift(to: new, path: "\(path)[*]")
        // An empty array matches the shape of any array.
        case (.array, .array): return []
        case (.mixed, .mixed) where name == live.name:
            let new = live.kinds
            return kinds.sorted { $0.key < $1.key }.flatMap { name, shape in
                new[name].map { shape.drift(to: $0, path: path) } ?? []
            }
        default: return ["\(path)  was \(name), is \(live.name)\(live.contents(knowing: self, path: path))"]
        }
    }

    /// The name of a new member that holds all members of this object, which have left their places; nil if there is none.
    ///
    /// Of several, it is the one that differs least.
    private func envelope(in new: [String: JSONShape]) -> String? {
        guard case .object(let old, _) = self, old.count > 1, old.keys.allSatisfy({ new[$0] == nil }) else {
            return nil
        }
        let names = new.keys.sorted().filter { name in
            guard case .object(let members, _) = new[name] else { return false }
            return old.keys.allSatisfy { members[$0] != nil }
        }
        return names.min { one, other in
            func count(_ name: String) -> Int { new[name].map { drift(to: $0).count } ?? 0 }
            return count(one) < count(other)
        }
    }

    /// The line for a member that is new.
    private func newLine(at path: String) -> String { "\(path)  is new: \(name)\(members)" }

    /// The members of an object that stands in place of a value of another kind, and the one that has the shape of that value.
    private func contents(knowing recorded: JSONShape, path: String) -> String {
        guard case .object(let members, _) = self, !members.isEmpty else { return "" }
        let names = members.keys.sorted()
        if case .array(_?) = recorded, let name = names.first(where: { members[$0] == recorded }) {
            return "; \(path).\(name) has the shape that \(path) had"
        }
        return self.members
    }

    /// The words for the members of an object; empty for any other value.
    private var members: String {
        guard case .object(let members, _) = self, !members.isEmpty else { return "" }
        let shown = members.sorted { $0.key < $1.key }.prefix(Self.shownCount).map { "\($0) (\($1.name))" }
        let more = members.count - shown.count
        return " with \(shown.joined(separator: ", "))" + (more > 0 ? " and \(more) more" : "")
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
