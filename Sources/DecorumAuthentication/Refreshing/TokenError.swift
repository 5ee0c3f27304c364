public import Decorum
import Foundation

/// A request was not sent, or its answer was not delivered, because no user is signed in.
public struct SignedOutError: DescribableError, Hashable {
    /// The reason why no user is signed in.
    public enum Reason: Sendable, Hashable {
        /// The store holds no token.
        case noToken
        /// The authorization server says that the token is no longer valid.
        case refused
        /// The app has signed the user out, or another user in, while the request was under way.
        case signedOut
    }

    /// The reason.
    public let reason: Reason

    /// Creates an error.
    public init(_ reason: Reason) {
        self.reason = reason
    }

    /// The reason, and the way to mend it.
    public var description: String {
        switch reason {
        case .noToken: "No user is signed in. Ask the user to sign in, and give the token to `signIn(with:)`."
        case .refused:
            "The authorization server no longer accepts the stored token. Ask the user to sign in again."
        case .signedOut: "The user was signed out, or another one signed in, while the request was under way."
        }
    }
}

extension SignedOutError: TemporaryError {
    /// False, since only the user can sign in again.
    public var mayPass: Bool { false }
    /// Whether nothing was sent; false if the user was signed out while the request was under way.
    public var meansNotProcessed: Bool { reason != .signedOut }
}

/// A request was not sent, or not sent again, because there was no new token; the old one is kept.
public struct TokenRefreshError: DescribableError, Sendable {
    /// The error of the source or of the store; nil if the time of the refresh was over.
    public let underlying: (any Error)?
    /// The instant until which no further refresh is tried; nil if it is not known.
    public let earliestRetry: ContinuousClock.Instant?

    /// Creates an error; each parameter is the property of its name.
    public init(underlying: (any Error)?, earliestRetry: ContinuousClock.Instant? = nil) {
        self.underlying = underlying
        self.earliestRetry = earliestRetry
    }

    /// The cause; never a token.
    public var description: String {
        let start = "There is no new token, and the old one is kept: "
        guard let underlying else { return start + "the authorization server did not answer in time." }
        return start + Redaction.standard.description(of: underlying)
    }
}

extension TokenRefreshError: TemporaryError, ReachabilityError {
    /// Whether the failure may pass.
    public var mayPass: Bool {
        guard let underlying else { return true }
        return (underlying as? any TemporaryError)?.mayPass ?? false
    }

    /// True: the request was not sent, or its server has answered that it did not carry it out.
    public var meansNotProcessed: Bool { true }

    /// Whether the authorization server could not be reached.
    public var meansServerNotReached: Bool {
        guard let underlying else { return true }
        return (underlying as? any ReachabilityError)?.meansServerNotReached ?? false
    }
}

/// A request of a refresh needs the very token that the refresh is about to get, so it would wait for itself.
public struct RefreshRecursionError: DescribableError, Hashable {
    /// The cause, and the way to mend it.
    public var description: String {
        "A refresh sends through the layer that waits for this refresh. Give the source a stack of its own without "
            + "`authenticating(with:for:)`, or set `skipsAuthentication` on its requests."
    }
}
