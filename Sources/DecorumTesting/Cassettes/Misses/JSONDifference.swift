import Decorum
import DecorumArchive

/// A difference between two JSON values, with a path such as `$.items[3].name`.
struct JSONDifference: Hashable {
    /// The steps from the root, such as `.items`, `[3]` and `.name`.
    private let steps: [String]
    /// The recorded value; nil if absent.
    let recorded: JSONValue?
    /// The live value; nil if absent.
    let live: JSONValue?
    /// The last step to the value; nil for the whole.
    var lastStep: String? { steps.last }
    /// The name of the last member on the way; nil if there is none.
    var memberName: Substring? { steps.last { $0.hasPrefix(".") }?.dropFirst() }
    /// Whether the object or the array around the value holds a secret, so that a value without a recorded one may be one.
    let isBesideSecret: Bool

    /// The differences in the order of the recorded value, at most `limit` of them.
    ///
    /// Each value is compared once, so the time is linear in the number of values.
    static func all(_ recorded: JSONValue, _ live: JSONValue, limit: Int) -> [JSONDifference] {
        var comparison = Comparison(limit: limit)
        comparison.compare(recorded, live)
        return comparison.differences
    }

    private struct Comparison {
        let limit: Int
        var differences: [JSONDifference] = []
        /// The steps from the root.
        var path: [String] = []

        mutating func compare(_ recorded: JSONValue?, _ live: JSONValue?) {
            guard differences.count < limit else { return }
            switch (recorded, live) {
            case (.object(let old), .object(let new)):
                let (old, new) = (Self.members(old), Self.members(new))
                for (member, value) in old.ordered {
                    compare(value, new.values[member], at: "." + member.name, in: recorded, live)
                }
                for (member, value) in new.ordered where old.values[member] == nil {
                    compare(nil, value, at: "." + member.name, in: recorded, live)
                }
            case (.array(let old), .array(let new)):
                for index in 0..<max(old.count, new.count) {
                    let element = index < old.count ? old[index] : nil
                    compare(element, index < new.count ? new[index] : nil, at: "[\(index)]", in: recorded, live)
                }
            case (.string(let old), .string(let new)) where KeyTemplates.matches(recorded: old, new): break
            case (.number(let old), .number(let new)) where BodyKey.number(old) == BodyKey.number(new): break
            default:
                guard recorded != live else { return }
                add(recorded, live, isBesideSecret: false)
            }
        }

        /// Compares two values at a step into the values around them.
        private mutating func compare(
            _ recorded: JSONValue?, _ live: JSONValue?, at step: String, in around: JSONValue?...
        ) {
            guard differences.count < limit else { return }
            path.append(step)
            if recorded == nil {
                add(nil, live, isBesideSecret: around.contains { $0?.holdsSecret ?? false })
            } else {
                compare(recorded, live)
            }
            path.removeLast()
        }

        private mutating func add(_ recorded: JSONValue?, _ live: JSONValue?, isBesideSecret: Bool) {
            differences.append(
                JSONDifference(steps: path, recorded: recorded, live: live, isBesideSecret: isBesideSecret))
        }

        /// A member, identified by its name and the number of members of that name before it.
        private struct Member: Hashable {
            let name: String
            let number: Int
        }

        private static func members(
            _ members: [JSONValue.Member]
        ) -> (ordered: [(Member, JSONValue)], values: [Member: JSONValue]) {
            var counts: [String: Int] = [:]
            let ordered = members.map { member in
                let number = counts[member.name, default: 0]
                counts[member.name] = number + 1
                return (Member(name: member.name, number: number), member.value)
            }
            return (ordered, Dictionary(ordered) { first, _ in first })
        }
    }
}

extension JSONDifference {
    /// Whether the live value may hold the secret of which the recorded one holds the placeholder.
    private var hidesSecret: Bool { recorded?.holdsSecret ?? false }

    /// The place and both values, as they may be shown to a person; `shown` is the whole recorded value with the placeholders of
    /// its file, `subject` has the live value, and `showsContents` asks for the beginning of lists and objects.
    func line(
        masking scanner: SecretScanner, shown document: JSONValue? = nil, of subject: String = "this request",
        showsContents: Bool = false
    ) -> String {
        let place = scanner.masked("$" + steps.joined())
        func shown(_ value: JSONValue) -> String { value.excerpt(masking: scanner, showsContents: showsContents) }
        guard let recorded else {
            let value = isBesideSecret ? live?.unshown : nil
            return "\(place)  the recording has none  →  \(value ?? live.map(shown) ?? "")"
        }
        let written = recorded.holdsSecret ? document?.value(at: steps) : nil
        let old = shown(written ?? recorded)
        guard let live else { return "\(place)  \(old)  →  \(subject) has none" }
        let new = shown(live)
        // Two masked secrets would look the same.
        guard hidesSecret || old == new else { return "\(place)  \(old)  →  \(new)" }
        return "\(place)  \(old)  →  \(live.string.map(RequestLines.unshownSecret) ?? live.kind)"
    }
}

extension JSONValue {
    /// The value at the end of some steps; nil if there is none, or if an object repeats a name on the way.
    fileprivate func value(at steps: [String]) -> JSONValue? {
        steps.reduce(self as JSONValue?) { value, step in
            switch value {
            case .object(let members):
                members.count { "." + $0.name == step } == 1 ? members.first { "." + $0.name == step }?.value : nil
            case .array(let elements):
                Int(step.dropFirst().dropLast()).flatMap { $0 < elements.count ? elements[$0] : nil }
            default: nil
            }
        }
    }

    /// Whether a placeholder stands in the value, or in any value within it.
    fileprivate var holdsSecret: Bool {
        switch self {
        case .null, .bool, .number: false
        case .string(let text): text.contains(Pseudonym.erasedText)
        case .array(let elements): elements.contains(where: \.holdsSecret)
        case .object(let members): members.contains { $0.value.holdsSecret }
        }
    }

    /// The words for a value that may be a secret; nil for one that is none, or is never shown.
    fileprivate var unshown: String? {
        switch self {
        case .string: RequestLines.unshown("a text")
        case .number: RequestLines.unshown("a number")
        case .null, .bool, .array, .object: nil
        }
    }

    /// The words for a value that is not shown.
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "another number"
        case .string: "a text"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value in few characters, with secrets masked before anything is cut off.
    fileprivate func excerpt(masking scanner: SecretScanner, showsContents: Bool) -> String {
        switch self {
        case .array where showsContents,
            .object where showsContents:
            let text = scanner.masked(String(decoding: document(), as: UTF8.self))
            return (text.count > 80 ? "\(text.prefix(80))…" : text).withoutControls
        case .null: return "null"
        case .bool(let bool): return String(bool)
        case .number(let digits): return String(scanner.masked(digits).prefix(40))
        case .string(let text):
            let text = scanner.masked(text)
            return text.count > 40 ? "\"\(text.prefix(40))…\"" : "\"\(text)\""
        case .array(let elements): return "[\(elements.count) elements]"
        case .object(let members): return "{\(members.count) members}"
        }
    }
}
