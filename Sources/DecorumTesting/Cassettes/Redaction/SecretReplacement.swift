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
    /// The text in its place, which keeps the format of the value.
    public let placeholder: String
    /// The first place at which it was found, such as `choices.token in JSON`.
    public let place: String
    /// The rule that leaves the value: a line of Swift for a variable `rules`.
    ///
    /// A part of a path, and a user name with its password, have no name. In their rule, `"the value"` stands for the value
    /// itself, which is not shown.
    public let rule: String
    /// The rule as a value; nil where the line has to name the value itself.
    let allowance: SecretAllowance?
    /// The number of places that names mark.
    public internal(set) var count = 1

    /// The place, the text and the rule.
    public var description: String {
        let times = count == 1 ? "" : " (\(count) times)"
        return "\(place): \(placeholder)\(times); to leave it: \(rule)"
    }

    init(_ secret: NamedSecret, _ text: [UInt8]) {
        name = String(decoding: secret.name.prefix(80), as: UTF8.self)
        placeholder = String(decoding: text, as: UTF8.self)
        let listed = ListedRule(secret)
        place = listed.place
        rule = listed.line
        allowance = listed.allowance
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
