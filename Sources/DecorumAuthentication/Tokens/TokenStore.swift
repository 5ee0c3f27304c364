/// Keeps the token of one user, for all stacks and processes that send requests for this user.
///
/// ``MemoryTokenStore`` keeps it until the process ends, and ``FileTokenStore`` keeps it for the processes of one machine.
/// A store of your own, such as one in the Keychain, keeps ``Token/storedForm``, which tells from which sign-in a token comes,
/// and has to keep two promises: ``replace(_:with:)`` compares and writes in one step, whichever process does it, and
/// ``exclusively(_:)`` lets one caller at a time work in all processes together. Servers that rotate refresh tokens end the
/// session of a client that sends one of them twice.
public protocol TokenStore: Sendable {
    /// Reads the token.
    ///
    /// - Returns: The token; nil where no user is signed in.
    /// - Throws: The error that prevents reading.
    nonisolated(nonsending) func token() async throws -> Token?

    /// Replaces the token, if it is still the one that is expected.
    ///
    /// - Parameters:
    ///   - expected: The token that the caller has read; nil for none.
    ///   - token: The new token; nil to remove it.
    /// - Returns: Whether the expected token was there and is replaced. False leaves the store as it is.
    /// - Throws: The error that prevents writing; the store is as it was.
    nonisolated(nonsending) func replace(_ expected: Token?, with token: Token?) async throws -> Bool

    /// Returns the tokens that are stored from now on; nil each time that the token is removed.
    ///
    /// A slow reader gets the newest one only. ``Tokens`` reads the store again after each.
    func changes() -> AsyncStream<Token?>

    /// Performs work while no other caller performs such work on the same token, in any process.
    ///
    /// The work is a refresh, which takes as long as a server needs. Reading and ``replace(_:with:)`` go on meanwhile.
    ///
    /// - Parameter work: The work.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work, or of the wait for other processes.
    nonisolated(nonsending) func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result
}
