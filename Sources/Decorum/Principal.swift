/// The user on whose behalf a request is made: an opaque name that separates the stored responses of different users.
///
/// Layers that share responses use it as a part of the key. Create it from an account identifier, such as a user's
/// number, never from a password or a token.
///
/// ```swift
/// var request = try Request.get("https://api.example.com/inbox")
/// request.options.principal = Principal("user-42")
/// ```
///
/// ``Connection/acting(for:)`` sets it on every request of a stack.
public struct Principal: Sendable, Hashable {
    let name: String

    /// Creates a principal.
    ///
    /// - Parameter name: A name that is different for each principal; not a secret.
    public init(_ name: String) {
        self.name = name
    }
}

extension Principal: SecretHolder {
    /// A fixed word; it does not show the name, which may identify a person.
    public var description: String { "principal" }
}
