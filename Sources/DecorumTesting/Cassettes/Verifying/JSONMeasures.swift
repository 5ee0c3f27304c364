import Decorum
import DecorumArchive
import Foundation

/// The numbers of elements in JSON, and whether its numbers are whole, by their paths.
///
/// They are values and belong to no shape, but a client may rely on them: it reads the first element of a list, or a number
/// as an integer.
struct JSONMeasures {
    /// The numbers of elements of the lists at each path.
    private var lists: [String: [Int]] = [:]
    /// Whether all numbers at each path are whole.
    private var areWhole: [String: Bool] = [:]

    /// The measures of content; nil if it is no JSON.
    init?(of content: Data) {
        guard let value = try? JSONValue(parsing: Array(content)) else { return nil }
        add(value, at: "$")
    }

    private mutating func add(_ value: JSONValue, at path: String) {
        switch value {
        case .array(let elements):
            lists[path, default: []].append(elements.count)
            for element in elements { add(element, at: path + "[*]") }
        case .object(let members):
            for member in members { add(member.value, at: "\(path).\(member.name)") }
        case .number(let digits):
            let isWhole = Double(digits).map { $0 == $0.rounded() } ?? true
            areWhole[path] = (areWhole[path] ?? true) && isWhole
        case .null, .bool, .string: break
        }
    }

    /// The differences between the measures of a live value and those of the recorded one, as lines with a JSON path.
    func drift(to live: JSONMeasures) -> [String] {
        let counts = lists.keys.sorted().compactMap { path in
            Self.words(from: lists[path] ?? [], to: live.lists[path] ?? []).map { "\(path)  \($0)" }
        }
        let fractions = areWhole.keys.sorted().filter { areWhole[$0] == true && live.areWhole[$0] == false }
        return counts + fractions.map { "\($0)  was a whole number, has a fraction" }
    }

    /// The difference of the lists at one path; nil if there is none, or if one side has no list.
    private static func words(from old: [Int], to new: [Int]) -> String? {
        guard !old.isEmpty, !new.isEmpty else { return nil }
        let (before, after) = (old.reduce(0, +), new.reduce(0, +))
        // Where each element has a list of its own, their numbers differ anyway.
        guard before != after, old.count == 1 && new.count == 1 || after == 0 else { return nil }
        guard before > 0 else { return "was empty, has \(elements(after))" }
        return "had \(elements(before)), " + (after == 0 ? "is empty" : "has \(after)")
    }

    private static func elements(_ count: Int) -> String { "\(count) element\(count == 1 ? "" : "s")" }
}
