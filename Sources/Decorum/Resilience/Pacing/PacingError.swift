public import Foundation

/// A request that was not sent, because its server has asked for a pause that ends too late for the request.
///
/// ``Connection/pacing(_:in:clock:generator:)`` throws it at once. It says that it may pass (``TemporaryError``), and that
/// the server was not reached (``ReachabilityError``), so that a cache may answer with a stale response.
public struct PacingError: DescribableError, Sendable, Hashable {
    /// The server; nil where the request names none.
    public let origin: Origin?
    /// The instant at which the request could be sent.
    public let instant: ContinuousClock.Instant
    /// The date and time of that instant.
    public let date: Date
    /// The time from the failure to that instant.
    public let wait: Duration

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - origin: The server; nil where the request names none.
    ///   - instant: The instant at which the request could be sent.
    ///   - date: The date and time of that instant.
    ///   - wait: The time from now to that instant.
    public init(origin: Origin?, instant: ContinuousClock.Instant, date: Date, wait: Duration) {
        self.origin = origin
        self.instant = instant
        self.date = date
        self.wait = wait
    }

    /// The server, and the instant at which the request can be sent.
    public var description: String {
        let server = origin.map { "\($0.host):\($0.port)" } ?? "the server"
        return "The request to \(server) was not sent, because the server has asked for a pause. "
            + "Send it at \(HTTPDate(date)) or later, which is in \(wait.shortText)."
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
