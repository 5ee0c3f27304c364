public import HTTPTypes

/// Computes the credentials of a request from the request itself, such as a signature.
///
/// ```swift
/// struct SharedKeySigner: RequestSigner {
///     let key: SharedKey
///     let secretFields: Set<HTTPField.Name> = [.authorization]
///
///     func sign(_ request: Request) async throws -> Request {
///         var request = request
///         request.head.headerFields[.authorization] = try await key.signature(of: request.head)
///         return request
///     }
/// }
/// ```
///
/// A signature may be a field, items of the query, or a part of the content, such as signed chunks and trailer fields.
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
    /// This is called once for every attempt, with the request as it reaches the layer. The layer takes the head and the
    /// body of the result. It keeps the options, and throws ``InvalidRequestError`` where the method or the origin has
    /// changed, since the credentials are only for the request that was asked for.
    ///
    /// The layer declares as secret each field that signing adds or changes, whatever ``secretFields`` says, unless the
    /// name is known to be harmless, such as `Date`. It also declares as secret each item that signing adds to the
    /// query. No log, no recording and no description of the request shows the value of such an item. The value is also
    /// hidden where a field of the response repeats the item in a URL. A signature in the path, and one that a server
    /// repeats in content, is not recognized.
    ///
    /// To sign the content, read ``Request/body``, but only if its ``Body/replay`` is not ``Body/Replay/once``: otherwise
    /// the content can no longer be sent, and the transport throws ``BodyReadTwiceError``. For such a body, return one
    /// that signs its chunks while they are read, declare the content as not signed, or throw your own error.
    ///
    /// The value of a field should be valid, since `HTTPField` replaces line breaks by blanks.
    ///
    /// - Parameter request: The request, without its signature.
    /// - Returns: The signed request.
    /// - Throws: The error that prevents signing; nothing is sent, and the caller gets the error unchanged.
    nonisolated(nonsending) func sign(_ request: Request) async throws -> Request

    /// Learns from the response to a signed request, such as a challenge, the server's clock, or the next nonce.
    ///
    /// The caller gets the response when this returns. It is not called when there is no response. By default, it does
    /// nothing. Take the server's clock only from a response of the network: see ``AuthenticationAnswer/metadata``.
    ///
    /// - Parameter answer: The signed head and the response to it.
    nonisolated(nonsending) func learn(from answer: AuthenticationAnswer) async
}

extension RequestSigner {
    /// Learns nothing.
    public func learn(from answer: AuthenticationAnswer) async {}
}
