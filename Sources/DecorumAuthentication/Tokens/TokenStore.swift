public import Decorum
import Foundation

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
    /// - Returns: The token; nil if no user is signed in.
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

/// Gets the next token from a server, such as with a refresh token.
///
/// ``OAuthClient`` has the sources of OAuth. Write your own for a server with another protocol, as <doc:sign-in-stay-signed-in>
/// shows.
///
/// Throw ``OAuthError`` with ``OAuthError/Code/invalidGrant`` only if the server says that the refresh token is invalid,
/// since that signs the user out. After every other error the token is kept.
public protocol TokenSource: Sendable {
    /// The layers of the stack through which the source sends.
    ///
    /// It must be a stack of its own, without the layer that uses the tokens.
    var layers: [Layer] { get }

    /// Whether the source needs no earlier token to get a token, as with the credentials of a client; by default false.
    var startsWithoutToken: Bool { get }

    /// Gets a new token.
    ///
    /// It is called for one token at a time, in a task that no caller cancels, and it has ``RefreshPolicy/timeLimit``.
    ///
    /// - Parameter token: The token to replace; nil without one, which happens only with ``startsWithoutToken``.
    /// - Returns: The new token. Where it has no refresh token, the old one is kept.
    /// - Throws: The reason for the failure.
    nonisolated(nonsending) func token(replacing token: Token?) async throws -> Token
}

extension TokenSource {
    /// False.
    public var startsWithoutToken: Bool { false }
}

/// A store of tokens could not be used.
public struct TokenStoreError: DescribableError, Hashable {
    package struct Reason: Sendable, Hashable {
        let sentence: String
        let mayPass: Bool

        init(_ sentence: String, mayPass: Bool = false) {
            self.sentence = sentence
            self.mayPass = mayPass
        }

        package static let isNoDirectory = Reason(
            "The directory of the tokens is a file or a symbolic link; name a directory.")
        package static let isOfAnotherUser = Reason(
            "The directory of the tokens belongs to another user; name one of your own.")
        package static let isReadableByOthers = Reason(
            "Other users can read the directory of the tokens; run `chmod 700` on it, or name another one.")
        package static let unsafeFile = Reason(
            "The file of the token, or a lock beside it, is not a file of this user alone; remove it and sign in again."
        )
        package static let invalidName = Reason(
            "The name of the token has other characters than letters, digits, `-`, `_` and `.`, the ending of another file "
                + "of the store, or is empty or too long.")
        package static let isNotSealed = Reason(
            "The token could not be sealed; check the seal of its store.", mayPass: true)
        package static let isLocked = Reason(
            "Another process has used the stored token for longer than the limit of the wait.", mayPass: true)
        package static let neverReplaces = Reason(
            "The store of the token did not replace the token that it had just given, many times in a row.",
            mayPass: true)

        package static func system(_ code: Int32) -> Reason {
            Reason("The stored token cannot be used: the system reports error \(code).", mayPass: true)
        }
    }

    /// How often a replacement is tried while other tasks and processes change the store.
    static let attemptLimit = 100

    package let reason: Reason

    package init(_ reason: Reason) {
        self.reason = reason
    }

    /// The reason, and the way to mend it.
    public var description: String { reason.sentence }
}

extension TokenStoreError: TemporaryError {
    /// Whether the failure may pass: another process that holds the lock, or an error of the system.
    public var mayPass: Bool { reason.mayPass }

    /// True, since the token is needed before anything is sent.
    public var meansNotProcessed: Bool { true }
}
