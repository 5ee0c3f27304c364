import Decorum
import DecorumArchive

/// A value of a JSON or YAML file that another tool wrote.
struct StoredValue: Sendable, Hashable {
    enum Content: Sendable, Hashable {
        case null
        /// A number of JSON, as it is written.
        case number(String)
        /// A Boolean of JSON, or a plain scalar of YAML, whose type is not resolved.
        case literal(String)
        case string(String)
        case list([StoredValue])
        case map([Member])
    }

    struct Member: Sendable, Hashable {
        var name: String
        var value: StoredValue
    }

    var content: Content
    /// The tag without its exclamation marks, such as `binary`; it is a label without effect.
    var tag: String?
    /// The line on which it begins, if known.
    var line: Int?
    /// Whether the text had half of a surrogate pair, which became U+FFFD.
    var hasLoneSurrogate = false
}

extension StoredValue {
    init(_ value: JSONValue) {
        switch value {
        case .null: self.init(content: .null)
        case .bool(let value): self.init(content: .literal(value ? "true" : "false"))
        case .number(let digits): self.init(content: .number(digits))
        case .string(let text): self.init(content: .string(text))
        case .array(let elements): self.init(content: .list(elements.map(StoredValue.init)))
        case .object(let members):
            self.init(content: .map(members.map { Member(name: $0.name, value: StoredValue($0.value)) }))
        }
    }

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
        case .map(let members): .object(members.map { JSONValue.Member($0.name, $0.value.json) })
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
}
