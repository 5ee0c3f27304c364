public import Decorum
import Foundation

/// A store of tokens could not be used.
public struct TokenStoreError: DescribableError, Hashable {
    /// The reason, as an open set.
    public struct Reason: Sendable, Hashable {
        let sentence: String
        let mayPass: Bool

        init(_ sentence: String, mayPass: Bool = false) {
            self.sentence = sentence
            self.mayPass = mayPass
        }

        /// The path of the directory is that of a file or of a symbolic link.
        public static let isNoDirectory = Reason(
            "The directory of the tokens is a file or a symbolic link; name a directory.")
        /// The directory belongs to another user.
        public static let isOfAnotherUser = Reason(
            "The directory of the tokens belongs to another user; name one of your own.")
        /// Other users can reach the directory.
        public static let isReadableByOthers = Reason(
            "Other users can read the directory of the tokens; run `chmod 700` on it, or name another one.")
        /// The file is a symbolic link, is not a regular file, or other users can read it.
        public static let unsafeFile = Reason(
            "The file of the token, or a lock beside it, is not a file of this user alone; remove it and sign in again."
        )
        /// The name has characters that no name of a token has.
        public static let invalidName = Reason(
            "The name of the token has other characters than letters, digits, `-`, `_` and `.`, the ending of another file "
                + "of the store, or is empty or too long."
        )
        /// Another process holds the lock for longer than the limit.
        public static let isLocked = Reason(
            "Another process has used the stored token for longer than the limit of the wait.", mayPass: true)

        /// The store refuses to replace a token, although the token was read from it just before.
        public static let neverReplaces = Reason(
            "The store of the token did not replace the token that it had just given, many times in a row.",
            mayPass: true)

        /// A call of the system failed.
        ///
        /// - Parameter code: The number of the error.
        /// - Returns: The reason.
        public static func system(_ code: Int32) -> Reason {
            Reason("The stored token cannot be used: the system reports error \(code).", mayPass: true)
        }
    }

    /// How often a replacement is tried while other tasks and processes change the store.
    static let attemptLimit = 100

    /// The reason.
    public let reason: Reason

    /// Creates an error.
    ///
    /// - Parameter reason: The reason.
    public init(_ reason: Reason) {
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
