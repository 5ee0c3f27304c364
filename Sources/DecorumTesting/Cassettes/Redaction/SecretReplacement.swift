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
    public let rule: String
    /// The number of places that names mark.
    public internal(set) var count = 1

    /// The place, the text and the rule.
    public var description: String {
        let times = count == 1 ? "" : " (\(count) times)"
        return "\(place): \(placeholder)\(times); to leave it: \(rule)"
    }

    init(_ secret: NamedSecret, _ text: [UInt8]) {
        let name = String(decoding: secret.name.prefix(80), as: UTF8.self)
        self.name = name
        placeholder = String(decoding: text, as: UTF8.self)
        let allowance: String
        switch secret.place {
        case .field: (place, allowance) = ("field \(name)", ".field(\(Self.literal(name)))")
        case .cookie: (place, allowance) = ("cookie \(name)", ".item(\(Self.literal(name)))")
        case .item: (place, allowance) = ("\(name) in a query or form", ".item(\(Self.literal(name)))")
        case .text: (place, allowance) = ("\(name) in text", ".item(\(Self.literal(name)))")
        case .json(let path):
            let pattern = path.map(Self.pattern(of:)) ?? "**.\(name)"
            (place, allowance) = ("\(pattern) in JSON", ".json(\(Self.literal(pattern)))")
        case .path: (place, allowance) = ("path of a URL", ".text(…)")
        case .userinfo: (place, allowance) = ("user name and password in a URL", ".text(…)")
        }
        rule = "rules.allowedSecrets.append(\(allowance))"
    }

    /// A pattern looks through arrays, so it has no indices.
    private static func pattern(of path: String) -> String {
        var pattern = ""
        var isIndex = false
        for character in path.dropFirst(path.hasPrefix("$.") ? 2 : path.hasPrefix("$") ? 1 : 0) {
            if character == "[" { isIndex = true } else if character == "]", isIndex { isIndex = false }
            if !isIndex, character != "]" { pattern.append(character) }
        }
        return pattern.hasPrefix(".") ? String(pattern.dropFirst()) : pattern
    }

    private static func literal(_ text: String) -> String { text.debugDescription }
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
