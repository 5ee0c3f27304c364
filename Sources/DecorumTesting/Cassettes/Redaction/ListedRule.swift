import Decorum

/// The rule that a recording lists for a replaced secret, and the words for the secret's place.
struct ListedRule {
    /// The longest name that a rule has, since it is printed.
    private static let nameLimit = 80

    let place: String
    /// The rule as a value; nil if nothing but the secret itself tells which one is meant.
    let allowance: SecretAllowance?
    /// The rule as a line of Swift for a variable `rules`.
    let line: String

    init(_ secret: NamedSecret) {
        let name = Self.name(secret.name)
        let shown = String(decoding: secret.name.prefix(Self.nameLimit), as: UTF8.self)
        switch secret.place {
        case .field: self.init("field \(shown)", name.map { SecretAllowance.field($0) }, "field", name)
        case .cookie: self.init("cookie \(shown)", item: name)
        case .item: self.init("\(shown.isEmpty ? "a value" : shown) in a query or form", item: name)
        case .text: self.init("\(shown) in text", item: name)
        case .json(let known):
            let unescaped = Self.name(JSONText.unescape(secret.name[...]))
            // In text that is only nearly JSON, the place is not known.
            let pattern = known ?? unescaped.map { "**." + JSONPattern.escaped($0) }
            let allowance = pattern.map { SecretAllowance.json(JSONPattern($0)) }
            self.init("\(pattern ?? shown) in JSON", allowance, "json", pattern)
        case .path: self.init("path of a URL", item: nil)
        case .userinfo: self.init("user name and password in a URL", item: nil)
        }
    }

    private init(_ place: String, item name: String?) {
        self.init(place, name.map { SecretAllowance.item($0) }, "item", name)
    }

    private init(_ place: String, _ allowance: SecretAllowance?, _ kind: String, _ argument: String?) {
        self.place = place
        self.allowance = allowance
        let code = argument.map { ".\(kind)(\($0.debugDescription))" } ?? #""the value""#
        line = "rules.allowedSecrets.append(\(code))"
    }

    /// The name of a secret as a rule has it; nil if it is empty, long, or no text.
    private static func name(_ bytes: [UInt8]) -> String? {
        (1...nameLimit).contains(bytes.count) ? String(validating: bytes, as: UTF8.self) : nil
    }
}
