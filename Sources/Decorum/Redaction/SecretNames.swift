// Only declarations with `package` access are exported, so that each module of this package reads JSON and finds secrets in
// the same way, and an app sees none of them.
@_exported public import DecorumSecrets

/// A set of names whose values are secret, compared without regard to their spelling.
///
/// Letter case, blanks, hyphens and underscores are ignored: `access_token` also stands for `accessToken` and
/// `Access-Token`. In a name with parts, such as `user[password]` or `user.password`, each part is compared.
///
/// With a leading asterisk, a name stands for all names with that ending: `*token` for `userToken` and `token`. Such a
/// name is a guess. Therefore numbers, `true`, `false` and `null` under it are not secret, as in `max_tokens=100`, and
/// neither are cursors of lists and keys of entries, as in `next_page_token` and `sort_key`.
public struct SecretNames: Sendable, Hashable, ExpressibleByArrayLiteral {
    package private(set) var set: SecretNameSet

    /// Creates a set of names.
    ///
    /// - Parameter names: The names, in any spelling.
    public init(_ names: some Sequence<String>) { set = SecretNameSet(names) }

    init(_ set: SecretNameSet) { self.set = set }

    /// Adds a name.
    ///
    /// - Parameter name: The name, in any spelling.
    public mutating func insert(_ name: String) { set.insert(name) }

    /// Removes a name.
    ///
    /// - Parameter name: The name, in any spelling.
    public mutating func remove(_ name: String) { set.remove(name) }

    /// Returns whether a name, or a part of it, is in the set or has an ending from the set.
    ///
    /// - Parameter name: The name, in any spelling.
    /// - Returns: Whether its value is secret.
    public func contains(_ name: String) -> Bool { self.set.secrecy(of: Array(name.utf8)) != nil }

    /// Whether there are no names.
    public var isEmpty: Bool { self.set.isEmpty }

    /// Creates a set of names.
    ///
    /// - Parameter elements: The names, in any spelling.
    public init(arrayLiteral elements: String...) { self.init(elements) }
}

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
public struct JSONPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    package let path: JSONPath

    /// Creates a pattern.
    ///
    /// - Parameter pattern: The names, joined by dots.
    public init(_ pattern: String) { path = JSONPath(pattern) }

    init(_ path: JSONPath) { self.path = path }

    /// Creates a pattern.
    ///
    /// - Parameter value: The names, joined by dots.
    public init(stringLiteral value: String) { self.init(value) }
}
