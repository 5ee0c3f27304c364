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
