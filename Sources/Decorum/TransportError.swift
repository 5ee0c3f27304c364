public import Foundation
public import HTTPTypes

/// A failure to get a complete answer from a server.
///
/// Every transport throws this one type, with the most precise code that its platform reports. A status such as 503 is
/// not a failure; cancellation is `CancellationError`.
public struct TransportError: Error {
    /// The cause of a failure, as an open set.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code: one of a small number, suitable for a metric.
        public let description: String

        /// Creates a custom code.
        ///
        /// - Parameter description: The name of the code.
        public init(_ description: String) {
            self.description = description
        }

        /// No server listens at the host and port.
        public static let connectionRefused = Code("connectionRefused")
        /// The host's name has no address.
        public static let hostNotFound = Code("hostNotFound")
        /// The host cannot be reached, or this machine has no network.
        public static let unreachable = Code("unreachable")
        /// No byte was sent or received for as long as the idle timeout allows.
        public static let timedOut = Code("timedOut")
        /// The deadline of the request, or that of its response's body, has passed.
        public static let deadlineExceeded = Code("deadlineExceeded")
        /// The connection broke or was closed before the answer was complete.
        public static let connectionLost = Code("connectionLost")
        /// The body ended before its length, or before its last chunk.
        public static let truncated = Code("truncated")
        /// The answer is not HTTP, or breaks its rules.
        public static let malformedResponse = Code("malformedResponse")
        /// The secure connection could not be made: the certificate is not trusted, or the two sides do not agree.
        public static let tls = Code("tls")
        /// The content cannot be decoded, or names a coding that the platform does not know.
        public static let undecodableContent = Code("undecodableContent")
        /// The request's own body could not be read; the underlying error says why.
        public static let unreadableBody = Code("unreadableBody")
        /// The server refused the request's `Expect` with a 417, whose content the platform hides.
        public static let expectationFailed = Code("expectationFailed")
        /// The proxy answered `CONNECT` with another status than 2xx, such as `407` (RFC 9110, section 9.3.6).
        public static let proxyRefused = Code("proxyRefused")
        /// A limit was reached, such as the disk space that a slow reader may use, or the files that a process may
        /// open.
        public static let limitExceeded = Code("limitExceeded")
        /// The app has closed the transport, so it sends no new requests.
        public static let closed = Code("closed")
        /// Any cause that the platform does not distinguish.
        public static let other = Code("other")
    }

    /// The progress of an exchange when it failed.
    public enum Stage: Sendable, Hashable, Comparable {
        /// The failure came before anything was sent; sending again is safe for any method.
        case connecting
        /// The request may have been sent in part or whole, but the head of the response had not arrived.
        case head
        /// The failure came while the body of the response was received.
        case body
    }

    /// The reason why a secure connection was not made, as an open set.
    public struct TLSProblem: Sendable, Hashable, CustomStringConvertible {
        /// The name of the problem, suitable for a metric.
        public let description: String

        package init(_ description: String) {
            self.description = description
        }

        /// The certificate leads to no root that the client trusts.
        public static let untrusted = TLSProblem("untrusted")
        /// The certificate has expired.
        public static let expired = TLSProblem("expired")
        /// The certificate is not valid yet.
        public static let notYetValid = TLSProblem("notYetValid")
        /// The certificate is for other hosts.
        public static let wrongName = TLSProblem("wrongName")
        /// The certificate is not accepted, for a reason that the platform does not tell.
        public static let unverified = TLSProblem("unverified")
        /// The app has not pinned the public key of the certificate.
        public static let wrongKey = TLSProblem("wrongKey")
        /// The server answered with bytes that are not TLS.
        public static let noTLS = TLSProblem("noTLS")
        /// The system demands TLS, and the request has the scheme `http`.
        public static let required = TLSProblem("required")
        /// The server ended the handshake with an alert, such as for a missing certificate of the client.
        public static let refused = TLSProblem("refused")
        /// The file of the root certificates that the client trusts cannot be read.
        public static let unusableRoots = TLSProblem("unusableRoots")
        /// The client's own certificate or key cannot be used.
        public static let unusableIdentity = TLSProblem("unusableIdentity")
    }

    /// The cause of the failure.
    public let code: Code
    /// Whether a time has ended: the deadline of the request or of its body, or the longest wait for the next byte.
    public var isTimeout: Bool { code == .deadlineExceeded || code == .timedOut }
    /// The progress of the exchange.
    public let stage: Stage
    /// The platform's own error, without the request's URL; nil when absent.
    public let underlying: (any Error)?
    /// The reason for the code ``Code/tls``; nil for other codes, and if the reason is not known.
    public var tlsProblem: TLSProblem?
    /// The words of the platform about the failure, without any part of the request but its host; nil if they say no more
    /// than the code.
    public var detail: String?
    /// The server that the request was for; nil if the transport does not tell.
    public var origin: Origin?
    /// The method of the request; nil if the transport does not tell.
    public var method: HTTPRequest.Method?
    /// The URL of the request, of which a description shows neither the query nor secrets.
    private(set) var requestURL: URL?
    /// The route name of the request; nil without one.
    public var routeName: String?
    /// The URL that redirected the request to ``origin``; nil without a redirection.
    public var redirectedFrom: URL?
    /// The host and the port of the proxy, if the way to it has failed and the transport tells; otherwise nil.
    public var proxy: String?
    /// The time from the start of the exchange to the failure; nil if the transport does not tell.
    public var elapsed: Duration?
    /// The idle timeout that has passed; nil unless it has caused the failure.
    public var idleTimeout: Duration?
    /// The number of times that the request was sent in vain, with all retries.
    public var attempts = 1
    /// The time from the start of the first attempt, or from its response, to the failure, with all retries and their waits;
    /// nil for a request that was tried once, and on a clock that skips sleeps.
    public var totalElapsed: Duration? { retryHistory?.elapsed }
    /// The reason why `retrying` did not send the request again, although the failure may pass; nil if it has used all
    /// retries, and for a failure that does not pass.
    public internal(set) var retryRefusal: String?
    /// The attempts before the one that has failed; nil for a first attempt.
    var retryHistory: RetryHistory?
    /// The URL of a relative request, which a layer has resolved; for logs, which redact it.
    var resolvedURL: String?
    /// Whether the server has refused the stream of the request unread, or has never seen it.
    ///
    /// True after a reset with `REFUSED_STREAM`, and for a stream above the last one that a `GOAWAY` names (RFC 9113,
    /// section 8.7). `retrying` sends a request with any method again after such a failure, once at once.
    public var isUnprocessed = false
    /// Whether the connection had served other requests, and was lost before the first byte of the response.
    ///
    /// Servers close idle connections, and a request may meet the close, although the server may also have processed it. So
    /// `retrying` sends it again, once at once, only if its method is idempotent or if it has an `Idempotency-Key`
    /// (RFC 9112, section 9.3.1). False if the transport cannot tell, as `URLSessionConnection`, which sends such requests
    /// again by itself.
    public var hasLostReusedConnection = false
    /// The part of the work whose deadline has passed, with the code ``Code/deadlineExceeded``; nil if it is not known, as for
    /// a deadline that the request has brought along.
    ///
    /// ```swift
    /// if error.deadlineScope == .attempt { slowAttempts += 1 }
    /// ```
    public internal(set) var deadlineScope: DeadlineScope?

    /// The part of the work that has a deadline, as an open set.
    public struct DeadlineScope: Sendable, Hashable, CustomStringConvertible {
        /// The name of the part, suitable for a metric.
        public let description: String

        /// A call with all of its attempts (``Connection/limitingTime(_:clock:)``), and its body where it is read whole.
        public static let call = DeadlineScope(description: "call")
        /// One attempt (``Connection/limitingTime(_:as:clock:)``).
        public static let attempt = DeadlineScope(description: "attempt")
        /// The body of the response (``RequestOptions/bodyDeadline``).
        public static let body = DeadlineScope(description: "body")
    }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The cause of the failure.
    ///   - stage: The progress of the exchange.
    ///   - underlying: The platform's own error, which must not hold the request's URL or credentials.
    public init(_ code: Code, at stage: Stage, underlying: (any Error)? = nil) {
        (self.code, self.stage, self.underlying) = (code, stage, underlying)
    }

    /// Creates the error for an exchange in which nothing was sent or received for the idle timeout.
    package init(idleFor idleTimeout: Duration, at stage: Stage) {
        self.init(.timedOut, at: stage)
        self.idleTimeout = idleTimeout
    }

    /// Adds the server, the request and the time to an error with which an exchange ends; the facts that it has stay.
    package static func locate(
        _ error: any Error, at origin: Origin?, after elapsed: Duration?, method: HTTPRequest.Method? = nil,
        url: @autoclosure () -> URL? = nil, routeName: String? = nil
    ) -> any Error {
        guard var error = error as? TransportError else { return error }
        error.origin = error.origin ?? origin
        error.elapsed = error.elapsed ?? elapsed
        error.method = error.method ?? method
        error.requestURL = error.requestURL ?? url()
        error.routeName = error.routeName ?? routeName
        return error
    }

    /// Adds a request and the time to an error with which its exchange ends.
    ///
    /// - Parameters:
    ///   - error: The error; one of another type is returned unchanged.
    ///   - request: The request as it was to be sent.
    ///   - elapsed: The time from the start of the exchange to the failure.
    /// - Returns: The error; the facts that it has already stay.
    public static func locate(
        _ error: any Error, in request: borrowing Request, after elapsed: Duration?
    ) -> any Error {
        locate(
            error, at: try? Origin(request.head), after: elapsed, method: request.head.method, url: request.head.url,
            routeName: request.options.routeName)
    }

    /// The error with which an exchange ends whose content could not be read; cancellation stays what it is.
    package static func unreadableBody(_ error: any Error, at stage: Stage) -> any Error {
        error is CancellationError ? error : TransportError(.unreadableBody, at: stage, underlying: error)
    }
}

extension TransportError {
    /// The error with a description that does not name the URL of the request.
    package var withoutURL: TransportError {
        var error = self
        error.requestURL = nil
        return error
    }

    /// The name of the code.
    public var shortDescription: String { code.description }

    /// The sentences about the retries of a request that was sent a number of times, without the hops of redirections.
    static func notes(onTries tries: Int, within elapsed: Duration?, refusal: String?) -> [String] {
        let time = elapsed.map { " within \($0.shortText)" } ?? ""
        return (tries > 1 ? ["The request was tried \(tries) times\(time)."] : [])
            + [refusal.map { "There was no \(tries > 1 ? "further " : "")retry: \($0)." }].compactMap { $0 }
    }
}

extension Redaction {
    /// Describes an error without secrets that its own description may quote.
    ///
    /// For a ``DescribableError``, the result is its description with redacted URLs. For an error of Foundation, it is
    /// the domain and the code, as in `NSURLErrorDomain -1004`; for any other error, the name of its type.
    ///
    /// - Parameter error: The error.
    /// - Returns: A description that is safe to log.
    public func description(of error: any Error) -> String {
        guard let error = error as? any DescribableError else { return Self.name(of: error) }
        let description = applied(toText: error.description)
        guard let underlying = (error as? TransportError)?.underlying else { return description }
        return "\(description) (\(Self.name(of: underlying)))"
    }
}
