public import Decorum

/// Gets the next token from a server, such as with a refresh token.
///
/// ``OAuthClient`` has the sources of OAuth. Write your own for a server with another protocol:
///
/// ```swift
/// struct SessionSource: TokenSource {
///     let connection: any Connection
///
///     var layers: [Layer] { connection.layers }
///
///     func token(replacing token: Token?) async throws -> Token {
///         guard let refreshToken = token?.refreshToken else { throw OAuthError(.invalidGrant) }
///         var request = try Request.post("https://id.example.com/session", body: Body(json: ["token": refreshToken]))
///         request.options.skipsAuthentication = true
///         let response = try await connection.send(request)
///         guard response.status != .unauthorized else { throw OAuthError(.invalidGrant) }
///         guard response.status == .ok else { throw OAuthError(answering: response.head) }
///         return try await Token(response.body.text(upTo: Token.lengthLimit))
///     }
/// }
/// ```
///
/// Throw ``OAuthError`` with ``OAuthError/Code/invalidGrant`` only where the server says that the refresh token is not valid
/// any more, since that signs the user out. After every other error the token is kept.
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
    /// - Parameter token: The token to replace; nil where there is none, which happens only with ``startsWithoutToken``.
    /// - Returns: The new token. Where it has no refresh token, the old one is kept.
    /// - Throws: The reason why there is none.
    nonisolated(nonsending) func token(replacing token: Token?) async throws -> Token
}

extension TokenSource {
    /// False.
    public var startsWithoutToken: Bool { false }
}
