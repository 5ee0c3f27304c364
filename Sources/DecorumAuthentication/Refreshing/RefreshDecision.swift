import Foundation

/// The answer to an attempt to get a new token.
enum RefreshAnswer: Equatable {
    /// The server has given a new token.
    case token(Token)
    /// The server says that the refresh token is not valid any more (`invalid_grant`).
    case invalidGrant
    /// Everything else: other refusals, 429, 5xx, redirections, pages of HTML, no answer in time.
    case failure

    /// The kind of an error that a source has thrown.
    init(_ error: any Error) {
        guard let error = error as? OAuthError, error.code == .invalidGrant, !error.mayPass else {
            self = .failure
            return
        }
        self = .invalidGrant
    }
}

/// The consequence of the answer to a refresh, from values alone.
///
/// | answer | the store holds the token that was used | another token | none |
/// |---|---|---|---|
/// | a new token | it is saved | the other is adopted | the user has signed out |
/// | `invalid_grant` | the user is signed out | the other is adopted | the user has signed out |
/// | anything else | the token is kept | the other is adopted | the user has signed out |
///
/// A token that is kept is used further until it expires. Only the second answer in the first column removes a token.
enum RefreshDecision: Equatable {
    /// Save a token in place of the one that was used.
    case save(Token)
    /// Use the token that another process or another sign-in has stored meanwhile.
    case adopt(Token)
    /// Remove the token that was used: the server does not accept it any more.
    case remove
    /// The token was removed meanwhile, so nothing is stored.
    case stayOut
    /// Keep the token, and fail those who wait for a new one.
    case keep

    /// Decides.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - used: The token that was sent; nil where the source needed none.
    ///   - held: The token that the store holds after the answer.
    init(after answer: RefreshAnswer, using used: Token?, holding held: Token?) {
        guard held == used else {
            self = held.map { .adopt($0) } ?? .stayOut
            return
        }
        switch answer {
        case .token(let token): self = .save(token.completed(by: used))
        case .invalidGrant: self = used == nil ? .keep : .remove
        case .failure: self = .keep
        }
    }
}

extension Token {
    /// The token with the sign-in of the old one, and the parts that a server leaves out when they have not changed
    /// (RFC 6749, section 6).
    func completed(by old: Token?) -> Token {
        guard let old else { return self }
        // All parts are those of tokens, so they are valid.
        let whole = try? Token(
            accessToken, type: type, expiry: expiry, refreshToken: refreshToken ?? old.refreshToken,
            scope: scope ?? old.scope)
        var token = whole ?? self
        token.signIn = old.signIn
        return token
    }
}
