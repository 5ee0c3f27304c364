import Decorum
import Foundation

/// A value that was replaced when a cassette was written, and the rule that leaves it.
///
/// ```swift
/// var rules = CassetteRules()
/// rules.allowedSecrets.append(.json("choices.token"))
/// ```
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
        let times = count == 1 ? "" : " (\(count) times)"
        return "\(place): \(placeholder)\(times); to leave it: \(rule)"
    }

    /// The longest name that a rule has, since it is printed.
    private static let nameLimit = 80

    init(_ secret: NamedSecret, _ text: [UInt8]) {
        name = String(decoding: secret.name.prefix(Self.nameLimit), as: UTF8.self)
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
        case .item:
            (place, kind, argument) = ("\(name.isEmpty ? "a value" : name) in a query or form", "item", listed)
        case .path: (place, kind, argument) = ("path of a URL", "text", nil)
        case .userinfo: (place, kind, argument) = ("user name and password in a URL", "text", nil)
        }
        allowance = argument.map { kind == "field" ? .field($0) : kind == "json" ? .json(JSONPattern($0)) : .item($0) }
        let code = argument.map { ".\(kind)(\($0.debugDescription))" } ?? #""the value""#
        rule = "rules.allowedSecrets.append(\(code))"
    }

    /// The name of a secret as a rule has it; nil if it is empty, long, or no text.
    private static func name(_ bytes: [UInt8]) -> String? {
        (1...nameLimit).contains(bytes.count) ? String(validating: bytes, as: UTF8.self) : nil
    }
}

extension SecretReplacement {
    /// The most places that a recording shows: a reviewer reads each of them.
    private static let shownCount = 200

    /// The lines that a recording shows, one for each place: the items of a list have one place.
    static func report(_ replacements: [SecretReplacement], of file: String) -> String {
        let groups = Dictionary(grouping: replacements.indices) { replacements[$0].place }.values
            .sorted { $0[0] < $1[0] }
        let rest = groups.count > shownCount ? ["\n  and others"] : []
        let lines = groups.prefix(shownCount).map { group in
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
