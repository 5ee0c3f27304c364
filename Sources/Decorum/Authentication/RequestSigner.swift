public import HTTPTypes

/// Computes the credentials of a request from the request itself, such as a signature.
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
/// A signer is a value that many requests use at the same time. A signer that needs the time has its own
/// ``DatedClock``.
public protocol RequestSigner: Sendable {
    /// The fields that hold the signature or another secret.
    ///
    /// A redirection to another origin drops them, and no log or recording shows them. A request that already has one
    /// of them is not signed.
    var secretFields: Set<HTTPField.Name> { get }

    /// Signs a request.
    ///
    /// This is called once for every attempt, with the head and the body as they reach the layer. To sign the content,
    /// read ``Request/body``, but only if its ``Body/replay`` is not ``Body/Replay/once``: otherwise the content can no
    /// longer be sent, and the transport throws ``BodyReadTwiceError``. For such a body, throw your own error or
    /// declare the content as not signed.
    ///
    /// - Parameter request: The request, without the fields that signing adds.
    /// - Returns: The fields to set; each replaces the fields of the same name. Their values should be valid, since
    ///   `HTTPField` replaces line breaks by blanks.
    /// - Throws: The error that prevents signing; nothing is sent, and the caller gets the error unchanged.
    nonisolated(nonsending) func sign(_ request: Request) async throws -> HTTPFields
}
