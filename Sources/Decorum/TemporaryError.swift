/// An error that says whether it may pass, so that the same request may succeed later.
///
/// `retrying` sends a request again after such an error of any layer (``RetryRule/temporaryError``):
///
/// ```swift
/// struct WarmingUp: TemporaryError {
///     var mayPass: Bool { true }
///     var meansNotProcessed: Bool { true }
/// }
/// ```
public protocol TemporaryError: Error {
    /// Whether the same request may succeed later.
    var mayPass: Bool { get }
    /// Whether no server has carried out the request, so that a request with any method may be sent again; by default
    /// false.
    var meansNotProcessed: Bool { get }
    /// The earliest instant at which sending again makes sense; by default nil, for an instant that is not known.
    var earliestRetry: ContinuousClock.Instant? { get }
}

extension TemporaryError {
    /// False, since a server may have carried out the request.
    public var meansNotProcessed: Bool { false }
    /// No known instant.
    public var earliestRetry: ContinuousClock.Instant? { nil }

    /// The time until sending again makes sense, which is zero for an instant that has passed.
    package func askedWait(at now: ContinuousClock.Instant) -> Duration? {
        earliestRetry.map { max(.zero, now.duration(to: $0)) }
    }
}

extension TransportError: TemporaryError {
    /// Whether the failure may pass, by the code: true for ``Code/connectionRefused``, ``Code/hostNotFound``,
    /// ``Code/unreachable``, ``Code/timedOut``, ``Code/deadlineExceeded`` and ``Code/connectionLost``.
    public var mayPass: Bool {
        switch code {
        case .connectionRefused, .hostNotFound, .unreachable, .timedOut, .deadlineExceeded, .connectionLost: true
        default: false
        }
    }

    /// Whether no server has carried out the request: nothing was sent (``Stage/connecting``), or the server has said so
    /// (``isUnprocessed``).
    public var meansNotProcessed: Bool { stage == .connecting || isUnprocessed }
}

/// An error that says whether a server was reached.
///
/// A cache uses a stale response when the server cannot be reached (RFC 9111, section 4.2.4), and it takes no other
/// layer's error for such a failure unless the error says so:
///
/// ```swift
/// struct Offline: ReachabilityError {
///     var meansServerNotReached: Bool { true }
/// }
/// ```
public protocol ReachabilityError: Error {
    /// Whether no server gave an answer because it could not be reached.
    ///
    /// It is false for an error that a server or a user has caused, such as an ended session, and for an unknown cause.
    var meansServerNotReached: Bool { get }
}

extension TransportError: ReachabilityError {
    /// Whether the failure ``mayPass``, and the head of the response had not arrived (``Stage/body``).
    ///
    /// With ``Code/tls`` and ``Code/proxyRefused``, a server or a proxy has answered, which a stale response must not hide.
    public var meansServerNotReached: Bool { stage != .body && mayPass }
}
