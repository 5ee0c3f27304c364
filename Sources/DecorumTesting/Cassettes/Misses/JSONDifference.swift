import Decorum
import DecorumArchive

/// A difference between two JSON values, with a path such as `$.items[3].name`.
struct JSONDifference: Hashable {
    private let steps: [String]
    let recorded: JSONValue?
    let live: JSONValue?
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
        var path: [String] = []

        mutating func compare(_ recorded: JSONValue, _ live: JSONValue?) {
            switch (recorded, live) {
            case (.object(let old), .object(let new)):
                let values = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
                let known = Set(old.map(\.name))
                for member in old {
                    compare(member.value, values[member.name], at: "." + member.name, in: recorded, live)
                }
                for member in new where !known.contains(member.name) {
                    compare(nil, member.value, at: "." + member.name, in: recorded, live)
                }
            case (.array(let old), .array(let new)):
                for index in 0..<max(old.count, new.count) {
                    let element = index < old.count ? old[index] : nil
                    compare(element, index < new.count ? new[index] : nil, at: "[\(index)]", in: recorded, live)
                }
            case (.string(let old), .string(let new)) where KeyTemplates.matches(recorded: old, new): break
            case (.number(let old), .number(let new)) where BodyKey.number(old) == BodyKey.number(new): break
            case (_, let live) where live != recorded: add(recorded, live, isBesideSecret: false)
            default: break
            }
        }

        /// Compares two values at a step into the values around them.
        private mutating func compare(
            _ recorded: JSONValue?, _ live: JSONValue?, at step: String, in around: JSONValue?...
        ) {
            guard differences.count < limit else { return }
            path.append(step)
            if let recorded {
                compare(recorded, live)
            } else {
                add(nil, live, isBesideSecret: around.contains { $0?.holdsSecret ?? false })
            }
            path.removeLast()
        }

        private mutating func add(_ recorded: JSONValue?, _ live: JSONValue?, isBesideSecret: Bool) {
            differences.append(
                JSONDifference(steps: path, recorded: recorded, live: live, isBesideSecret: isBesideSecret))
        }
    }

    /// The place and both values, as they may be shown to a person; `shown` is the whole recorded value with the placeholders of
    /// its file.
    func line(masking scanner: SecretScanner, shown document: JSONValue? = nil) -> String {
        let place = scanner.masked("$" + steps.joined())
        guard let recorded else {
            let value = isBesideSecret ? live?.unshown : nil
            return "\(place)  the recording has none  →  \(value ?? live?.excerpt(masking: scanner) ?? "")"
        }
        let hidesSecret = recorded.holdsSecret
        let old = ((hidesSecret ? document?.value(at: steps) : nil) ?? recorded).excerpt(masking: scanner)
        guard let live else { return "\(place)  \(old)  →  this request has none" }
        let new = live.excerpt(masking: scanner)
        // The live value may hold the secret, and two masked secrets would look the same.
        guard hidesSecret || old == new else { return "\(place)  \(old)  →  \(new)" }
        return "\(place)  \(old)  →  \(live.string.map(RequestLines.unshownSecret) ?? live.kind)"
    }
}

extension JSONValue {
    /// The value at the end of some steps; nil if nothing is there, or if an object repeats a name on the way.
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

    fileprivate var holdsSecret: Bool {
        switch self {
        case .null, .bool, .number: false
        case .string(let text): text.contains(Pseudonym.erasedText)
        case .array(let elements): elements.contains(where: \.holdsSecret)
        case .object(let members): members.contains { $0.value.holdsSecret }
        }
    }

    /// The words for a value that may be a secret; nil for another one, or for one that is never shown.
    fileprivate var unshown: String? {
        switch self {
        case .string, .number: RequestLines.unshown(kind)
        case .null, .bool, .array, .object: nil
        }
    }

    /// The words for a value that is not shown.
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a text"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value in few characters, with secrets masked before anything is cut off.
    fileprivate func excerpt(masking scanner: SecretScanner) -> String {
        switch self {
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
