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
}

extension TransportError: TemporaryError {
    /// Whether the failure may pass, by the code.
    ///
    /// True for ``Code/connectionRefused``, ``Code/hostNotFound``, ``Code/unreachable``, ``Code/timedOut``,
    /// ``Code/deadlineExceeded`` and ``Code/connectionLost``. The other failures would occur again: a proxy that refuses,
    /// a certificate that is not trusted, an answer that is not HTTP, a transport that was closed.
    public var mayPass: Bool { Self.temporaryCodes.contains(code) }

    /// Whether no server has carried out the request: nothing was sent (``Stage/connecting``), or the server has said so
    /// (``isUnprocessed``).
    public var meansNotProcessed: Bool { stage == .connecting || isUnprocessed }

    private static let temporaryCodes: Set<Code> = [
        .connectionRefused, .hostNotFound, .unreachable, .timedOut, .deadlineExceeded, .connectionLost,
    ]
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
    /// It is false for an error that a server or a user has caused, such as an ended session or a certificate that is
    /// not trusted, and where the cause is not known.
    var meansServerNotReached: Bool { get }
}

extension TransportError: ReachabilityError {
    /// Whether the server was not reached, by the code and the stage.
    ///
    /// True for ``Code/connectionRefused``, ``Code/hostNotFound``, ``Code/unreachable``, ``Code/timedOut``,
    /// ``Code/deadlineExceeded`` and ``Code/connectionLost``, unless the head of a response had arrived (``Stage/body``).
    /// All other codes count as reached. With ``Code/tls`` and ``Code/proxyRefused``, a server or a proxy has answered,
    /// and a stale response must not hide this. With ``Code/malformedResponse``, ``Code/truncated``,
    /// ``Code/undecodableContent`` and ``Code/expectationFailed``, the server has answered. ``Code/unreadableBody``,
    /// ``Code/limitExceeded`` and ``Code/closed`` come from the app itself. The cause of ``Code/other`` is not known.
    public var meansServerNotReached: Bool {
        guard stage != .body else { return false }
        switch code {
        case .connectionRefused, .hostNotFound, .unreachable, .timedOut, .deadlineExceeded, .connectionLost: return true
        default: return false
        }
    }
}
