/// One or more places in JSON: names joined by dots, with `*` for any one level and `**` for any number of levels.
///
/// | Pattern | Stands for |
/// |---|---|
/// | `user.token` | the value of `token` in the object under `user` |
/// | `items.*.secret` | `secret` in each element, or each member, of `items` |
/// | `**.password` | `password` at any depth, the top included |
/// | `**.*_token` | the texts in what is named like `user_token` |
/// | `keys.0` | the first element of the array under `keys` |
///
/// Names, also those with a leading asterisk, are compared as in ``SecretNames``. A pattern looks through arrays, so
/// `items.secret` also finds `secret` in the elements of `items`. A backslash escapes a dot, an asterisk, a backslash or a
/// leading `$`, as in `a\.b`; brackets are a part of a name, as in `user[password]`. A leading `$` stands for the document.
/// The empty pattern is the whole document.
///
/// A pattern of more than 60 levels matches everything below its 60th level.
public struct JSONPattern: Sendable, Hashable {
    enum Component: Sendable, Hashable {
        case name(String, index: Int?)
        case any
        case anyDepth
        /// The ending of a name, normalised.
        case ending(String)
    }

    let components: [Component]

    /// Creates a pattern.
    ///
    /// - Parameter pattern: The names, joined by dots.
    public init(_ pattern: String) {
        var components: [Component] = []
        var name = ""
        var isEscaped = false
        var hasEscape = false

        func end() {
            switch name {
            case "*" where !hasEscape: components.append(.any)
            case "**" where !hasEscape: components.append(.anyDepth)
            case "$" where !hasEscape && components.isEmpty: break
            case _ where !hasEscape && name.first == "*":
                components.append(.ending(SecretNames.normalized(name.dropFirst().utf8)))
            default: components.append(.name(SecretNames.normalized(name.utf8), index: Int(name)))
            }
            name = ""
            hasEscape = false
        }

        for character in pattern {
            if !isEscaped, character == "\\" {
                isEscaped = true
                hasEscape = true
            } else if !isEscaped, character == "." {
                end()
            } else {
                name.append(character)
                isEscaped = false
            }
        }
        if !pattern.isEmpty { end() }
        self.components = Array(components.prefix(60))
    }
}

extension JSONPattern: ExpressibleByStringLiteral {
    /// Creates a pattern.
    ///
    /// - Parameter value: The names, joined by dots.
    public init(stringLiteral value: String) {
        self.init(value)
    }
}
