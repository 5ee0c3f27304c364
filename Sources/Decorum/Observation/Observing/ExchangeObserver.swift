/// Something that is told of each exchange when it has ended, such as ``ExchangeStatistics``.
///
/// A closure does too: see ``Connection/observing(as:clock:generator:_:)``.
public protocol ExchangeObserver: Sendable {
    /// Records an event.
    ///
    /// It is called from many tasks at a time, where the body of a response ends or is dropped, so it must not block.
    ///
    /// - Parameter event: What happened.
    func record(_ event: ExchangeEvent)
}

struct ClosureObserver: ExchangeObserver {
    let closure: @Sendable (ExchangeEvent) -> Void

    func record(_ event: ExchangeEvent) {
        closure(event)
    }
}
