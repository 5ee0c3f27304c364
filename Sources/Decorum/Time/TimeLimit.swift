/// An instant at which something fails unless it has ended by then, and the reason for it.
public struct TimeLimit: Sendable, Hashable {
    /// The reason why time is limited.
    public enum Cause: Sendable, Hashable {
        /// Nothing is sent or received for as long as an idle timeout.
        case idle
        /// A deadline passes.
        case deadline
    }

    /// The instant at which it is over.
    public let instant: ContinuousClock.Instant
    /// The reason.
    public let cause: Cause

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - instant: The instant at which it is over.
    ///   - cause: The reason.
    public init(at instant: ContinuousClock.Instant, because cause: Cause) {
        self.instant = instant
        self.cause = cause
    }
}

/// Something that fails at an instant unless it has ended by then: a ``TimeLimitWatch`` tells it when that is so.
///
/// The watch may call at any moment, from any thread, and after the end: only the first end counts.
public protocol TimeLimited: AnyObject, Sendable {
    /// The limit that is reached next; nil once it has ended.
    ///
    /// It may move to a later instant at any time, without notice to the watch. It must not move to an earlier one.
    var timeLimit: TimeLimit? { get }

    /// Fails, since the instant of a limit has come, unless ``timeLimit`` is a later one by now.
    ///
    /// - Parameter limit: The limit, as ``timeLimit`` was a moment ago.
    func timeOut(at limit: TimeLimit)

    /// Ends the value before its limit: a task that waits for it gets `CancellationError`.
    func cancel()
}

extension TimeLimited {
    /// Whether a limit whose instant has come is still the limit that counts.
    ///
    /// - Parameter limit: The limit that the watch has found.
    /// - Returns: False where the value has ended or moved on since.
    public func isStill(at limit: TimeLimit) -> Bool {
        timeLimit.map { $0.instant <= limit.instant } ?? false
    }
}
