/// An observer that counts the exchanges under way, for an indicator, or for a test that waits until all have ended.
///
/// ```swift
/// let activity = ActivityCount()
/// let connection = transport.observing(activity)
/// for await count in activity.changes() { indicator.isVisible = count > 0 }
/// ```
///
/// An exchange counts until its body has been read, has failed or has been dropped. As an observer of attempts, it counts the
/// requests that are on their way.
public final class ActivityCount: CallObserver {
    private let count = Updates(0)

    /// Creates a count of zero.
    public init() {}

    /// Only the start and the end.
    public var getsAllEvents: Bool { false }

    /// The number of exchanges under way.
    public var running: Int { count.value }

    /// The number now, and then each new number; a slow reader gets the newest one.
    public func changes() -> AsyncStream<Int> { count.stream(retaining: self) }

    /// Counts an exchange that begins.
    public func started(_ exchange: ObservedExchange) { count.update { $0 += 1 } }

    /// Counts an exchange that has ended.
    public func ended(_ report: CallReport) { count.update { $0 -= 1 } }
}
