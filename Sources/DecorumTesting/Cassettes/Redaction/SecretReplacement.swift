public import Decorum
import Foundation

/// A text that may be in a cassette as it is, because it is made up or no secret.
public struct SecretAllowance: Sendable, Hashable, SecretHolder {
    enum Rule: Sendable, Hashable {
        case text([UInt8])
        case kind(SecretKind)
        /// The fields with a name in small letters.
        case field(String)
        case item(String)
        case json(JSONPattern)
    }

    let rule: Rule

    /// Allows one token, password or value of an environment variable, which is compared exactly.
    public static func text(_ text: String) -> SecretAllowance { SecretAllowance(rule: .text(Array(text.utf8))) }

    /// Leaves the values of a field, although its name is the name of a secret; letter case does not count.
    public static func field(_ name: String) -> SecretAllowance { SecretAllowance(rule: .field(name.lowercased())) }

    /// Leaves the values of items in URLs and forms, of cookies, and of elements and assignments in text, with a name in any
    /// spelling.
    public static func item(_ name: String) -> SecretAllowance { SecretAllowance(rule: .item(name)) }

    /// Leaves the values at places in JSON, as in `choices.token`.
    ///
    /// In text that is only nearly JSON, such as a call around it, only a pattern of the form `**.token` has a place.
    public static func json(_ pattern: JSONPattern) -> SecretAllowance { SecretAllowance(rule: .json(pattern)) }

    /// Allows everything of a kind.
    public static func kind(_ kind: SecretKind) -> SecretAllowance { SecretAllowance(rule: .kind(kind)) }

    /// The kind that is allowed, or the fact that one value is allowed, which is not shown.
    public var description: String {
        switch rule {
        case .text: "one value"
        case .kind(let kind): kind.name
        case .field(let name): "field \(name)"
        case .item(let name): "items named \(name)"
        case .json: "places in JSON"
        }
    }
}

extension SecretAllowance: ExpressibleByStringLiteral {
    /// Allows one secret, which is compared exactly.
    public init(stringLiteral value: String) { self = .text(value) }
}

/// A value that was replaced when a cassette was written, and the rule that leaves it.
public struct SecretReplacement: Sendable, Hashable, CustomStringConvertible {
    /// The name that marks the value, such as `access_token`.
    public let name: String
    /// The text in its place, such as `__token-1__`.
    public let placeholder: String
    /// The first place at which it was found, such as `choices.token in JSON`.
    public let place: String
    /// The rule that leaves the value: a line of Swift for a variable `rules`.
    ///
    /// A part of a path, and a user name with its password, have no name. In their rule, `"the value"` stands for the value
    /// itself, which is not shown.
    public let rule: String
    /// The rule as a value; nil if the line has to name the value itself.
    let allowance: SecretAllowance?
    /// The number of places that names mark.
    public internal(set) var count = 1

    /// The place, the text and the rule.
    public var description: String {
        "\(place): \(placeholder)\(count == 1 ? "" : " (\(count) times)"); to leave it: \(rule)"
    }

    init(_ secret: NamedSecret, _ text: [UInt8]) {
        name = String(decoding: secret.name.prefix(80), as: UTF8.self)
        placeholder = String(decoding: text, as: UTF8.self)
        let listed = Self.name(secret.name)
        let (kind, argument): (String, String?)
        switch secret.place {
        case .field: (place, kind, argument) = ("field \(name)", "field", listed)
        case .json(let known):
            // In text that is only nearly JSON, the place is not known.
            let unescaped = Self.name(JSONText.unescape(secret.name[...]))
            let pattern = known ?? unescaped.map { "**." + JSONPattern.escaped($0) }
            (place, kind, argument) = ("\(pattern ?? name) in JSON", "json", pattern)
        case .cookie: (place, kind, argument) = ("cookie \(name)", "item", listed)
        case .text: (place, kind, argument) = ("\(name) in text", "item", listed)
        case .item: (place, kind, argument) = ("\(name.isEmpty ? "a value" : name) in a query or form", "item", listed)
        case .path: (place, kind, argument) = ("path of a URL", "text", nil)
        case .userinfo: (place, kind, argument) = ("user name and password in a URL", "text", nil)
        }
        allowance = argument.map { kind == "field" ? .field($0) : kind == "json" ? .json(JSONPattern($0)) : .item($0) }
        let code = argument.map { ".\(kind)(\($0.debugDescription))" } ?? #""the value""#
        rule = "rules.allowedSecrets.append(\(code))"
    }

    /// The name of a secret as a rule has it; nil if it is empty, too long to be printed, or no text.
    private static func name(_ bytes: [UInt8]) -> String? {
        (1...80).contains(bytes.count) ? String(validating: bytes, as: UTF8.self) : nil
    }

    /// The lines that a recording shows, one for each place, of which a reviewer reads 200 at most.
    static func report(_ replacements: [SecretReplacement], of file: String) -> String {
        let groups = Dictionary(grouping: replacements.indices) { replacements[$0].place }.values
            .sorted { $0[0] < $1[0] }
        let rest = groups.count > 200 ? ["\n  and others"] : []
        let lines = groups.prefix(200).map { group in
            let first = replacements[group[0]]
            guard group.count > 1 else { return "\n  \(first)" }
            return "\n  \(first.place): \(first.placeholder) and \(group.count - 1) more; to leave them: \(first.rule)"
        }
        let values = replacements.count == 1 ? "1 secret was" : "\(replacements.count) secrets were"
        return "\(file): \(values) replaced; a replayed test gets these texts:" + (lines + rest).joined() + "\n"
    }

    /// Writes the lines to standard error.
    static func write(_ replacements: [SecretReplacement], _ file: URL) {
        FileHandle.standardError.write(Data(report(replacements, of: file.relativePath).utf8))
    }
}

extension JSONPattern {
    /// A name of JSON as a pattern has it, with a backslash before each character that means something else there.
    static func escaped(_ name: String) -> String {
        // A dollar sign alone stands for the document.
        name == "$" ? "\\$" : String(name.flatMap { ".*\\".contains($0) ? ["\\", $0] : [$0] })
    }
}
