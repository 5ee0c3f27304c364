/// The limits in time of one exchange of a transport, which follow from the options of its request.
///
/// ```swift
/// let limits = try TransferLimits(request.options, idleTimeout: .seconds(60))
/// try limits.check(at: clock.now, for: Origin(request.head))
/// ```
///
/// Until the head of the response has arrived, an exchange ends at ``RequestOptions/deadline``, and after that at
/// ``RequestOptions/bodyDeadline``. At any time it ends after the idle timeout. The earliest of them counts.
public struct TransferLimits: Sendable, Hashable {
    /// The longest idle timeout: seven days, so that instants do not overflow.
    public static let longestIdleTimeout: Duration = .seconds(7 * 86_400)

    /// The longest time without a byte sent or received.
    public let idleTimeout: Duration
    /// The instant until which the head must have arrived; nil for no such limit.
    public let deadline: ContinuousClock.Instant?
    private let bodyDeadline: ContinuousClock.Instant?

    /// Creates the limits of an exchange.
    ///
    /// - Parameters:
    ///   - options: The options of the request.
    ///   - idleTimeout: The idle timeout where the options have none.
    ///   - longest: The idle timeout in place of longer ones.
    /// - Throws: ``InvalidRequestError`` when the idle timeout is negative.
    public init(
        _ options: borrowing RequestOptions, idleTimeout: Duration, atMost longest: Duration = longestIdleTimeout
    ) throws(InvalidRequestError) {
        self.idleTimeout = min(options.idleTimeout ?? idleTimeout, longest)
        bodyDeadline = options.bodyDeadline
        // A body whose deadline passes before its head is hopeless from then on.
        deadline = options.deadline.map { min($0, options.bodyDeadline ?? $0) } ?? options.bodyDeadline
        guard self.idleTimeout >= .zero else {
            throw InvalidRequestError(.negativeNumber, "The idle timeout is negative.")
        }
    }

    /// Checks before anything is sent that there is time left.
    ///
    /// - Parameters:
    ///   - now: The current instant.
    ///   - origin: The server that the request is for.
    /// - Throws: ``TransportError`` with ``TransportError/Code/deadlineExceeded`` or ``TransportError/Code/timedOut``.
    public func check(
        at now: ContinuousClock.Instant, for origin: @autoclosure () throws -> Origin?
    ) throws(TransportError) {
        var error: TransportError
        if let deadline, deadline <= now {
            error = TransportError(.deadlineExceeded, at: .connecting)
        } else if idleTimeout == .zero {
            error = TransportError(idleFor: idleTimeout, at: .connecting)
        } else {
            return
        }
        error.origin = try? origin()
        throw error
    }

    /// The limit that an exchange reaches next.
    ///
    /// - Parameters:
    ///   - progress: The instant of the last byte sent or received. While the exchange does not wait for the server, such
    ///     as for a slow reader of the response, it is the current one.
    ///   - stage: The progress of the exchange.
    /// - Returns: The limit; of two at one instant, the deadline.
    public func next(after progress: ContinuousClock.Instant, at stage: TransportError.Stage) -> TimeLimit {
        let idle = progress.advanced(by: idleTimeout)
        guard let deadline = stage == .body ? bodyDeadline : deadline, deadline <= idle else {
            return TimeLimit(at: idle, because: .idle)
        }
        return TimeLimit(at: deadline, because: .deadline)
    }

    /// The error with which an exchange ends at a limit.
    ///
    /// - Parameters:
    ///   - limit: The limit that it has reached.
    ///   - stage: The progress of the exchange.
    /// - Returns: The error.
    public func error(at limit: TimeLimit, _ stage: TransportError.Stage) -> TransportError {
        switch limit.cause {
        case .idle: TransportError(idleFor: idleTimeout, at: stage)
        case .deadline: TransportError(.deadlineExceeded, at: stage)
        }
    }
}
