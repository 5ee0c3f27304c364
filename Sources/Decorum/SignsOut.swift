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
