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
    package let name: String

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

/// Something that holds data of a user, and removes them when the user signs out.
///
/// A jar of cookies and a holder of tokens are such parts; make a part of your own for a database. `SigningOut` of
/// `DecorumAuthentication` signs a user out of several parts in one call.
public protocol SignsOut: Sendable {
    /// Removes everything that belongs to a user.
    ///
    /// - Parameter principal: The user.
    /// - Throws: The error because of which something may remain.
    nonisolated(nonsending) func signOut(_ principal: Principal) async throws
}
