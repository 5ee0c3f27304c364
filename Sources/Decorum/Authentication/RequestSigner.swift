public import HTTPTypes

/// A way to make a request's own credentials from the request itself, such as a signature.
///
/// ```swift
/// struct SharedKeySigner: RequestSigner {
///     let key: SharedKey
///     let secretFields: Set<HTTPField.Name> = [.authorization]
///
///     func sign(_ request: Request) async throws -> HTTPFields {
///         [.authorization: try await key.signature(of: request.head)]
///     }
/// }
/// ```
///
/// A signer is a value that many requests use at the same time. It takes the time from a ``DatedClock`` of its own.
public protocol RequestSigner: Sendable {
    /// The fields that hold the signature or another secret.
    ///
    /// A redirection to another origin drops them, and nothing that writes requests down shows them. A request that
    /// carries one of them already is not signed.
    var secretFields: Set<HTTPField.Name> { get }

    /// Signs a request.
    ///
    /// Called once for every attempt, with the head and the body as they are when they reach the layer. A signature
    /// that covers the content reads ``Request/body``, which is safe only where its ``Body/replay`` is not
    /// ``Body/Replay/once``: after such a reading there is nothing left to send, and the transport throws
    /// ``BodyReadTwiceError``. Throw an error of your own in that case, or declare the content as not signed.
    ///
    /// - Parameter request: The request, without the fields that signing adds.
    /// - Returns: The fields to set; each replaces those of the same name. Their values should be valid, since
    ///   `HTTPField` puts blanks in place of line breaks.
    /// - Throws: What keeps the request from being signed; nothing is sent, and the caller gets the error as it is.
    nonisolated(nonsending) func sign(_ request: Request) async throws -> HTTPFields
}
