/// On whose behalf a request is made: an opaque name that keeps what is stored for one apart from another.
///
/// Layers that share responses key by it. Make one from something that names an account, such as a user's
/// identifier; never from a password or a token.
///
/// ```swift
/// var request = try Request.get("https://api.example.com/inbox")
/// request.options.principal = Principal("user-42")
/// ```
public struct Principal: Sendable, Hashable {
    let name: String

    /// Creates a principal.
    ///
    /// - Parameter name: What tells this principal from another; not a secret.
    public init(_ name: String) {
        self.name = name
    }
}

extension Principal: CustomStringConvertible, CustomReflectable {
    /// A word that does not tell the name, which may be somebody's.
    public var description: String { "principal" }

    /// A mirror without children, so that `dump` does not tell it either.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
