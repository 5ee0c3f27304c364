import HTTPTypes
import Synchronization

/// An observer that counts exchanges, errors and durations for each route, in constant memory.
///
/// ```swift
/// let statistics = ExchangeStatistics()
/// let connection = transport.observing(statistics)
/// _ = try await connection.send(request)
/// print(statistics)
/// ```
///
/// A row stands for a method and a route name, or for a method and the origin that was asked when the request has no
/// route name; calls and attempts have separate rows. When the number of rows has reached the limit, all further
/// exchanges are counted in one row named `(other)` for calls and one for attempts.
///
/// An exchange ends with its body. An error in later work is not counted, such as content that a typed call cannot decode.
///
/// The counts are those since the creation or the last reset. With a ``Window``, they are those of the last minute or
/// hour. One layer can feed several statistics:
///
/// ```swift
/// let total = ExchangeStatistics()
/// let lastMinute = ExchangeStatistics(over: .lastMinute)
/// let connection = transport.observing { event in
///     total.record(event)
///     lastMinute.record(event)
/// }
/// ```
///
/// A row takes at most 16 KB, and with a window of 12 parts at most 60 KB; a row of calls that take less than a second
/// needs about half of it.
public final class ExchangeStatistics: ExchangeObserver {
    /// A period up to now, which moves on in steps.
    public struct Window: Sendable, Hashable {
        /// The length of the period.
        public let duration: Duration
        /// The number of parts that the period is divided into; counts are forgotten part by part.
        public let parts: Int

        /// Creates a window.
        ///
        /// - Parameters:
        ///   - duration: The length of the period, at least a millisecond. The counts are those of this time, less at
        ///     most one part.
        ///   - parts: The number of parts, from 1 to 100; memory grows with it.
        public init(_ duration: Duration, parts: Int = 12) {
            self.duration = max(duration, .milliseconds(1))
            self.parts = min(max(parts, 1), 100)
        }

        /// The last minute, in parts of five seconds.
        public static let lastMinute = Window(.seconds(60))
        /// The last hour, in parts of five minutes.
        public static let lastHour = Window(.seconds(3600))
    }

    private let window: Window?
    private let clock: any DatedClock
    private let start: ContinuousClock.Instant
    private let table: Mutex<StatisticsTable>

    /// Creates empty statistics.
    ///
    /// - Parameters:
    ///   - routeLimit: The largest number of rows, without the rows for other routes; a negative number counts as 0.
    ///   - window: The period that is counted; nil for all the time since the creation. A route that was not used within
    ///     the window makes room for others.
    ///   - clock: The clock that moves the window.
    public init(routeLimit: Int = 100, over window: Window? = nil, clock: any DatedClock = SystemClock()) {
        self.window = window
        self.clock = clock
        start = clock.now
        table = Mutex(StatisticsTable(routeLimit: max(0, routeLimit), parts: window?.parts))
    }

    /// Counts an exchange, which belongs to the time at which it ended.
    public func record(_ event: ExchangeEvent) {
        let place = StatisticsTable.Place(event)
        // The clock is read under the lock, so that time never runs back in the table.
        table.withLock { $0.add(event, at: place, in: part) }
    }

    /// Removes all counts.
    public func reset() {
        table.withLock { $0.removeAll() }
    }

    /// Reads all counts at one moment.
    ///
    /// - Returns: A row for each method and route; calls come before attempts, and frequent rows come first.
    public func snapshot() -> StatisticsSnapshot {
        StatisticsSnapshot(table.withLock { $0.totals(at: part) })
    }

    /// The number of the part of the window that is now; 0 without a window.
    private var part: Int {
        guard let window else { return 0 }
        return Int(start.duration(to: clock.now) / window.duration * Double(window.parts))
    }
}

extension ExchangeStatistics: CustomStringConvertible {
    /// The table of all counts at this moment.
    public var description: String { snapshot().description }
}
