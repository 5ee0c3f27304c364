import Foundation

/// A request that was not sent, because the source of its credentials failed.
///
/// `retrying` sends the request again, whatever its method, where the failure of the source may pass: nothing was sent.
public struct CredentialSourceError: DescribableError, Sendable {
    /// The server that the request is for.
    public let origin: Origin
    /// The method of the request and its URL without the query; nil where they are not known.
    public private(set) var request: String?
    /// The error of the source; nil where the deadline of the request came first.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - origin: The server that the request is for.
    ///   - underlying: The error of the source; nil where the deadline of the request came first.
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
        let subject = request ?? "The request to \(origin.host):\(origin.port)"
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
