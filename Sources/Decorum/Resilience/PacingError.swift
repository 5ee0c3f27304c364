public import Foundation
public import HTTPTypes

/// A request that was not sent, because its server has asked for a pause that ends too late for the request.
///
/// ``Connection/pacing(_:in:clock:generator:)`` throws it at once. After the pause, it throws it at the end of the time of a
/// request that still waits for answers to those ahead of it; then ``wait`` is zero. It says that it may pass
/// (``TemporaryError``), and that the server was not reached (``ReachabilityError``), so that a cache may answer with a stale response.
public struct PacingError: DescribableError, Sendable, Hashable {
    /// The server; nil if the request names none.
    public let origin: Origin?
    /// The route name of the request that was not sent; nil if it has none.
    public let routeName: String?
    /// The instant at which the request could be sent.
    public let instant: ContinuousClock.Instant
    /// The date and time of that instant.
    public let date: Date
    /// The time from the failure to that instant.
    public let wait: Duration
    /// The response with which the server has asked for the pause; nil if it is not known.
    public let cause: Cause?
    /// The URL of a relative request, which a layer has resolved; for logs, which redact it.
    var resolvedURL: String?

    /// The response to another request, which began the pause.
    public struct Cause: Sendable, Hashable {
        /// The status of the response.
        public let statusCode: Int
        /// The method of the request that it answered and its URL, without the query and without secrets; nil if
        /// it is not known, and if the pause also delays the requests of other users.
        public let request: String?
        /// The route name of the request that it answered; nil if it has none.
        public let routeName: String?
        /// The date on which it was received.
        public let date: Date
        /// The time that the server asked for.
        public let asked: Duration
        /// Whether the server asked by saying that nothing remains of a rate limit, instead of with `Retry-After`.
        public let isRateLimit: Bool

        /// The status of the response, as to compare it with ``StatusError/status``.
        public var status: HTTPResponse.Status { HTTPResponse.Status(code: statusCode) }

        package init(
            statusCode: Int, request: String? = nil, routeName: String?, date: Date, asked: Duration, isRateLimit: Bool
        ) {
            self.statusCode = statusCode
            self.request = request
            self.routeName = routeName
            self.date = date
            self.asked = asked
            self.isRateLimit = isRateLimit
        }
    }

    package init(
        origin: Origin?, instant: ContinuousClock.Instant, date: Date, wait: Duration, routeName: String? = nil,
        cause: Cause? = nil
    ) {
        self.origin = origin
        self.routeName = routeName
        self.instant = instant
        self.date = date
        self.wait = wait
        self.cause = cause
    }

    /// The server, the response that asked for the pause, and the instant at which the request can be sent.
    public var description: String {
        let server = origin.map { "\($0.host):\($0.port)" } ?? "the server"
        let route = routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        guard wait > .zero else {
            return
                "The request to \(server)\(route) was not sent, because \(reason), and the requests ahead of it had no "
                + "good answers in time. Send it again later."
        }
        // Rounded up, so that a request which is sent then does not come too early.
        let (whole, rest) = wait.bounded.components
        let seconds = whole + (rest > 0 ? 1 : 0)
        let isCut = cause.map { date < $0.date.addingTimeInterval($0.asked / .seconds(1)) } ?? false
        return "The request to \(server)\(route) was not sent, because \(reason). "
            + "Send it in \(Duration.seconds(seconds).shortText), not before \(HTTPDate(date))"
            + (isCut
                ? ", where `longestPause` of the `PacingPolicy` ends the pause."
                : "; some seconds are added to each pause, so that clients do not all come back at once.")
    }

    private var reason: String {
        guard let cause else { return "the server has asked for a pause" }
        let route = cause.routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        let request = cause.request.map { " to \($0)" } ?? ""
        let seconds = date.timeIntervalSince(cause.date) - wait / .seconds(1)
        let age = Duration.milliseconds((min(max(0, seconds), 0x1p31) * 1000).rounded())
        let response = "a response \(cause.statusCode)\(request)\(route) of \(age.shortText) ago"
        return cause.isRateLimit
            ? "nothing remains of the rate limit since \(response), which is renewed \(cause.asked.shortText) after it"
            : "\(response) asks for a pause of \(cause.asked.shortText)"
    }
}

extension PacingError: ReachabilityError {
    /// True, since nothing was sent.
    public var meansServerNotReached: Bool { true }
}

extension PacingError: TemporaryError {
    /// True, since the pause ends.
    public var mayPass: Bool { true }
    /// True, since nothing was sent.
    public var meansNotProcessed: Bool { true }
    /// The instant at which the request could be sent.
    public var earliestRetry: ContinuousClock.Instant? { instant }
}
