import Decorum
import DecorumArchive

/// The lists of a live answer that have the elements of the recorded ones in another order.
///
/// Elements are the same if they are equal, or if they have the same identifiers.
struct ReorderedLists {
    /// The lines for the lists, each with a JSON path.
    private(set) var lines: [String] = []
    /// The live value with the recorded order in each of the lists.
    private(set) var restored: JSONValue = .null

    init(from recorded: JSONValue, to live: JSONValue) {
        restored = restore(live, to: recorded, path: "$")
    }

    private mutating func restore(_ live: JSONValue, to recorded: JSONValue, path: String) -> JSONValue {
        switch (recorded, live) {
        case (.array(let old), .array(let new)):
            let sorted = Self.sorted(new, as: old)
            if let sorted, sorted != new {
                add("\(path)  \(Self.words(from: sorted, to: new))")
            }
            let elements = sorted ?? new
            guard old.count == elements.count else { return .array(elements) }
            return .array(zip(elements, old).map { restore($0, to: $1, path: path + "[*]") })
        case (.object(let old), .object(let new)):
            let members = Dictionary(old.map { ($0.name, $0.value) }) { first, _ in first }
            return .object(
                new.map { member in
                    let value = members[member.name].map {
                        restore(member.value, to: $0, path: "\(path).\(member.name)")
                    }
                    return .init(member.name, value ?? member.value)
                })
        default: return live
        }
    }

    private static func words(from recorded: [JSONValue], to live: [JSONValue]) -> String {
        "has its \(live.count) elements in \(live == recorded.reversed() ? "reverse" : "another") order"
    }

    /// Adds a line; the lists in several elements of one list have one path.
    private mutating func add(_ line: String) { if !lines.contains(line) { lines.append(line) } }

    /// The elements in the order of those with the same keys; nil if the lists have other keys, or a key twice.
    private static func sorted(_ new: [JSONValue], as old: [JSONValue]) -> [JSONValue]? {
        guard new.count == old.count, new.count > 1 else { return nil }
        let equal =
            Dictionary(grouping: new) { $0 }.mapValues(\.count) == Dictionary(grouping: old) { $0 }.mapValues(\.count)
        guard !equal else { return old }
        let (oldKeys, newKeys) = (old.compactMap(identifier), new.compactMap(identifier))
        let elements = Dictionary(zip(newKeys, new)) { first, _ in first }
        guard oldKeys.count == old.count, newKeys.count == new.count, elements.count == new.count,
            Set(oldKeys) == Set(newKeys)
        else { return nil }
        return oldKeys.compactMap { elements[$0] }
    }

    /// The value of the member `id` or `uuid`, or else of the first one that has the name of an identifier; nil if there is none.
    private static func identifier(of element: JSONValue) -> JSONValue? {
        guard case .object(let members) = element else { return nil }
        let own = members.first { ["id", "uuid"].contains($0.name.lowercased()) }
        return (own ?? members.first { IdentifierName.includes($0.name) })?.value
    }
}
