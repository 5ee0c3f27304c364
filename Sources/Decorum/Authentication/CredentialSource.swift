import Foundation
public import HTTPTypes

/// Gives the credentials of each attempt, such as a token that changes.
///
/// ```swift
/// actor Session: CredentialSource {
///     private(set) var token: String
///
///     init(token: String) { self.token = token }
///
///     func credentials(for attempt: AuthenticationAttempt) throws -> Credentials? {
///         try .bearer(token)
///     }
/// }
/// ```
///
/// A source is asked by many requests at the same time. A source that has to fetch a token fetches it once for all of
/// them, through a stack of its own.
public protocol CredentialSource: Sendable {
    /// The fields in which the source sends its credentials; by default `Authorization`.
    ///
    /// The source is not asked for a request that already has one of them. Credentials in other fields are secret too, as
    /// soon as the source has given them.
    var secretFields: Set<HTTPField.Name> { get }

    /// Whether all credentials of the source are of one user, who stays the same; by default false.
    ///
    /// A stack whose principal is fixed by ``Connection/acting(for:)`` is sound only with such a source: see
    /// `principalOfChangingUsers`.
    var servesOneUser: Bool { get }

    /// Returns the credentials for one attempt.
    ///
    /// The source is asked for each attempt, each hop of a redirection and each request in the background, but only for
    /// the origins of its layer. The wait ends at the ``RequestOptions/deadline`` of the request, and when the caller is
    /// cancelled; the task of the source is cancelled then.
    ///
    /// - Parameter attempt: The request, and the server that it is for.
    /// - Returns: The credentials; nil to send the request without any.
    /// - Throws: The reason for the failure. Nothing is sent, and the caller gets a ``CredentialSourceError`` with it.
    nonisolated(nonsending) func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials?

    /// Learns from the response to a request that had credentials of the source, such as from a `401` or a new token.
    ///
    /// The caller gets the response when this returns, and no deadline ends the wait: start longer work, such as fetching a
    /// new token, and return. It is not called when there is no response. By default, it does nothing.
    ///
    /// - Parameter answer: The head of the request with the credentials, and the response to it.
    nonisolated(nonsending) func learn(from answer: AuthenticationAnswer) async
}

extension CredentialSource {
    /// `Authorization`.
    public var secretFields: Set<HTTPField.Name> { [.authorization] }

    /// False.
    public var servesOneUser: Bool { false }

    /// Learns nothing.
    public func learn(from answer: AuthenticationAnswer) async {}
}

/// An attempt to send a request, for which a source gives credentials.
public struct AuthenticationAttempt: Sendable {
    /// The request as it reached the layer, without credentials.
    public let request: Request
    /// The server that the request is for, one of the origins of the layer.
    public let origin: Origin
    /// The number of the attempt within its call, from 1; nil without a ``RequestOptions/callContext``.
    public let number: Int?

    /// Creates an attempt.
    ///
    /// - Parameters:
    ///   - request: The request as it reached the layer.
    ///   - origin: The server that the request is for.
    public init(request: Request, origin: Origin) {
        self.request = request
        self.origin = origin
        number = request.options.callContext.map { $0.attempts + 1 }
    }
}

/// A request that was not sent, because the source of its credentials failed.
///
/// `retrying` sends the request again, whatever its method, if the failure of the source may pass.
public struct CredentialSourceError: DescribableError, Sendable {
    /// The server that the request is for.
    public let origin: Origin
    /// The method of the request and its URL without the query; nil if they are not known.
    public private(set) var request: String?
    /// The error of the source; nil if the deadline of the request came first.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - origin: The server that the request is for.
    ///   - underlying: The error of the source; nil if the deadline of the request came first.
    public init(origin: Origin, underlying: (any Error)?) {
        self.origin = origin
        self.underlying = underlying
    }

    /// The error for the request of an attempt.
    init(_ attempt: AuthenticationAttempt, underlying: (any Error)?) {
        self.init(origin: attempt.origin, underlying: underlying)
        request = attempt.request.urlText.map { url in
            "\(attempt.request.head.method) \(Redaction.describedPath(url))"
        }
    }

    /// The request or its server, and the failure of the source: the sentence of a ``DescribableError``, or the name of its type.
    public var description: String {
        let subject = request ?? "The request to \(origin.hostAndPort)"
        let start = "\(subject) was not sent, because the source of its credentials "
        guard let underlying else {
            return start + "gave none before the deadline. Give the source a shorter limit, or the call more time."
        }
        return start + "failed: \(Redaction.standard.description(of: underlying))"
    }
}

extension CredentialSourceError: TemporaryError {
    /// Whether the error of the source may pass; true for a deadline, and for a source whose own work was cancelled.
    public var mayPass: Bool {
        guard let underlying, !(underlying is CancellationError) else { return true }
        return (underlying as? any TemporaryError)?.mayPass ?? false
    }

    /// True, since nothing was sent.
    public var meansNotProcessed: Bool { true }

    /// The instant that the error of the source gives.
    public var earliestRetry: ContinuousClock.Instant? { (underlying as? any TemporaryError)?.earliestRetry }
}

extension CredentialSourceError: ReachabilityError {
    /// Whether the source could not reach its server in time.
    public var meansServerNotReached: Bool {
        guard let underlying else { return true }
        return (underlying as? any ReachabilityError)?.meansServerNotReached ?? false
    }
}
