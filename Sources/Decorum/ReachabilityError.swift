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
