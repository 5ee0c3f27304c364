/// Gives the report on each exchange to a closure, once it has ended.
///
/// ``Connection/observing(as:clock:generator:_:)`` takes a closure as it is. Use this type where an observer is a value, as in
/// ``StandardStack/composed(over:authentication:principal:store:pauses:observer:attemptObserver:log:adding:clock:generator:spawner:)``:
///
/// ```swift
/// let connection = try StandardStack(.app).composed(
///     observer: ClosureObserver { event in analytics.count(event.routeName, isError: event.isError) })
/// ```
public struct ClosureObserver: ExchangeObserver {
    private let closure: @Sendable (ExchangeEvent) -> Void

    /// Creates an observer.
    ///
    /// - Parameter record: Gets the events, from many tasks at a time; it must not block.
    public init(_ record: @escaping @Sendable (_ event: ExchangeEvent) -> Void) {
        closure = record
    }

    /// Calls the closure.
    public func record(_ event: ExchangeEvent) {
        closure(event)
    }
}
