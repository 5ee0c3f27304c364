public import Decorum

/// The clock and the log that a law gives to the decorator that is made for it.
///
/// ```swift
/// try await law.check(answering: [busy]) { base, conditions in
///     base.retrying(clock: conditions.clock).logging(to: conditions.log)
/// }
/// ```
public struct DecoratorConditions: Sendable {
    /// The clock for all waits of the decorator.
    ///
    /// It ends each sleep at once, as ``ImpatientClock`` does, except for the law that cancels a sleep.
    public let clock: any DatedClock
    /// The log for everything that the decorator writes; the laws look for secrets in it.
    public let log: LogSink

    init(clock: any DatedClock = ImpatientClock(), log: LogSink = LogSink { _ in }) {
        self.clock = clock
        self.log = log
    }
}
