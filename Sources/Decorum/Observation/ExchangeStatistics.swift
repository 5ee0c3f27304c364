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
/// It counts since its creation or the last reset; with a ``Window``, in the last minute or hour. One layer can feed several
/// statistics:
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
public final class ExchangeStatistics: CallObserver {
    /// A period up to now, which moves on in steps.
    public struct Window: Sendable, Hashable {
        /// The length of the period.
        public let duration: Duration
        /// The number of parts that the period is divided into; counts are forgotten part by part.
        public let parts: Int

        /// Creates a window.
        ///
        /// - Parameters:
        ///   - duration: The length of the period, at least a millisecond, of which up to one part is not counted.
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

    /// Only the end of an exchange.
    public var getsAllEvents: Bool { false }

    /// Counts an exchange that has ended.
    public func ended(_ event: ExchangeEvent) { record(event) }

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

/// The counts of ``ExchangeStatistics`` at one moment; it prints as a table.
public struct StatisticsSnapshot: Sendable {
    /// The counts of one method and route.
    public struct Row: Sendable {
        /// Whether the row counts calls or attempts.
        public fileprivate(set) var scope: ExchangeEvent.Scope
        /// The method; `*` for the row of all other routes.
        public fileprivate(set) var method = ""
        /// The route name; without a route name, the origin.
        public fileprivate(set) var route = ""
        /// The number of exchanges.
        public private(set) var count = 0
        /// How many of them failed, or were answered with a status of 4xx or 5xx.
        public private(set) var errors = 0
        /// How many of them were cancelled.
        public private(set) var cancelled = 0
        /// How many of them got a response, whatever its status.
        public private(set) var responses = 0
        /// How many of these responses were stored ones that no server confirmed.
        public private(set) var hits = 0
        /// How many of these responses were stored ones that a server confirmed.
        public private(set) var revalidations = 0
        /// How often requests were sent again after a temporary failure, over all calls; 0 for attempts.
        public private(set) var retries = 0
        /// The number of attempts over all exchanges.
        public private(set) var attempts = 0
        /// The bytes of all request bodies.
        public private(set) var bytesSent: Int64 = 0
        /// The bytes of all response bodies, as far as they were read, also of stored responses.
        public private(set) var bytesReceived: Int64 = 0
        /// The duration that half of the exchanges do not exceed.
        public var p50: Duration? { durations.percentile(0.5) }
        /// The duration that 90 % of the exchanges do not exceed.
        public var p90: Duration? { durations.percentile(0.9) }
        /// The duration that 99 % of the exchanges do not exceed.
        public var p99: Duration? { durations.percentile(0.99) }

        private var durations: Histogram

        fileprivate init(_ scope: ExchangeEvent.Scope, _ precision: Histogram.Precision) {
            self.scope = scope
            durations = Histogram(precision)
        }

        fileprivate mutating func add(_ event: ExchangeEvent) {
            count += 1
            errors += event.isError ? 1 : 0
            responses += event.statusCode != nil ? 1 : 0
            hits += event.source == .cache ? 1 : 0
            revalidations += event.source == .revalidated ? 1 : 0
            retries &+= max(0, event.retries)
            attempts &+= max(0, event.attempts ?? 0)
            bytesSent &+= event.bytesSent
            bytesReceived &+= event.bytesReceived

            switch event.outcome {
            case .cancelled: cancelled += 1
            case .finished, .failed: durations.record(event.duration)
            // The time until the reader dropped the body says nothing about the server.
            case .abandoned: durations.record(event.timeToHead ?? event.duration)
            }
        }

        fileprivate mutating func add(_ other: Self) {
            count += other.count
            errors += other.errors
            cancelled += other.cancelled
            responses += other.responses
            hits += other.hits
            revalidations += other.revalidations
            retries &+= other.retries
            attempts &+= other.attempts
            bytesSent &+= other.bytesSent
            bytesReceived &+= other.bytesReceived
            durations.add(other.durations)
        }

        /// The share of errors among the exchanges that were not cancelled, from 0 to 1.
        public var errorRate: Double {
            count > cancelled ? Double(errors) / Double(count - cancelled) : 0
        }

        /// The share of ``hits`` among the ``responses``, from 0 to 1; nil without a response, and for attempts.
        ///
        /// It is 0 for a route whose stored responses are all confirmed by the server: see ``revalidationRatio``.
        public var hitRatio: Double? { share(of: hits) }

        /// The share of ``revalidations`` among the ``responses``, from 0 to 1; nil without a response, and for attempts.
        public var revalidationRatio: Double? { share(of: revalidations) }

        private func share(of part: Int) -> Double? {
            scope == .call && responses > 0 ? Double(part) / Double(responses) : nil
        }
    }

    /// The rows: calls before attempts, the most frequent first.
    public let rows: [Row]

    fileprivate init(_ rows: some Sequence<Row>) {
        let rows = Array(rows)
        self.rows = rows.indices.sorted { rows[$0].precedes(rows[$1]) }.map { rows[$0] }
    }
}

extension StatisticsSnapshot.Row {
    fileprivate func precedes(_ other: Self) -> Bool {
        if scope != other.scope { return scope == .call }
        if count != other.count { return count > other.count }
        return (route, method) < (other.route, other.method)
    }

    fileprivate var cells: [String] {
        [scope.rawValue, method, route, "\(count)", Self.percent(errorRate), "\(cancelled)"]
            + [p50, p90, p99].map { $0?.shortText ?? "-" }
            + [hitRatio, revalidationRatio].map { $0.map(Self.percent) ?? "-" }
            + ["\(retries)", "\(attempts)", "\(bytesSent)", "\(bytesReceived)"]
    }

    private static func percent(_ share: Double) -> String {
        let tenths = Int((share * 1000).rounded())
        return "\(tenths / 10).\(tenths % 10) %"
    }
}

extension StatisticsSnapshot: CustomStringConvertible {
    /// A table in plain text, with a line for each row.
    public var description: String {
        let titles = [
            "scope", "method", "route", "count", "errors", "cancelled", "p50", "p90", "p99", "hits", "revalidated",
            "retries", "attempts", "sent", "received",
        ]
        let table = [titles] + rows.map(\.cells)
        let widths = titles.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { line(of: $0, widths: widths) }.joined(separator: "\n")
    }

    /// Aligns texts to the left of their columns and numbers to the right.
    private func line(of cells: [String], widths: [Int]) -> String {
        zip(cells, widths).enumerated().map { column, cell in
            let padding = String(repeating: " ", count: cell.1 - cell.0.count)
            return column < 3 ? cell.0 + padding : padding + cell.0
        }.joined(separator: "  ")
    }
}

/// The counts of all routes; each row has the counts of the last parts of time.
private struct StatisticsTable: Sendable {
    /// A row as it is shown.
    struct Key: Sendable, Hashable {
        var scope: ExchangeEvent.Scope
        var method: String
        var route: String
    }

    /// A row as it is found for each event, for which the text of an origin need not be made.
    struct Place: Sendable, Hashable {
        private static let lengthLimit = 128
        private let scope: ExchangeEvent.Scope
        private let method: String
        private let route: String?
        /// The origin of an event without a route.
        private let origin: Origin?

        init(_ event: borrowing ExchangeEvent) {
            let exchange = event.exchange
            scope = exchange.scope
            method = exchange.method.rawValue.cut(toBytes: 32)
            let origin = exchange.routeName == nil ? exchange.origin : nil
            // A port and the marks take fewer than 28 bytes.
            let isLong = origin.map { $0.host.utf8.count > Self.lengthLimit - 28 } ?? false
            let text = isLong ? origin?.description : exchange.routeName
            route = text?.cut(toBytes: Self.lengthLimit)
            self.origin = isLong ? nil : origin
        }

        var key: Key {
            Key(scope: scope, method: method, route: route ?? origin?.description ?? "(no origin)")
        }

        // The route or the host alone distinguishes nearly all rows.
        func hash(into hasher: inout Hasher) { hasher.combine(route ?? origin?.host ?? "") }
    }

    private typealias Rows = [Place: RecentTotals]

    /// The rows of the latest events, until a row is added or removed.
    private struct Latest {
        var ofCalls: Rows.Index?
        var ofAttempts: Rows.Index?
    }

    private let routeLimit: Int
    /// The number of parts that are kept; nil if all time is one part.
    private let parts: Int?
    private var rows: Rows = [:]
    private var latest = Latest()
    private var others: [ExchangeEvent.Scope: RecentTotals] = [:]
    /// The part in which outdated rows were last removed.
    private var lastRemoval = Int.min

    init(routeLimit: Int, parts: Int?) {
        self.routeLimit = routeLimit
        self.parts = parts
    }

    mutating func add(_ event: ExchangeEvent, at place: Place, in part: Int) {
        if let index = index(of: place, in: event.exchange.scope) {
            rows.values[index].add(event, in: part)
            return
        }
        latest = Latest()
        if rows.count >= routeLimit { removeOutdatedRows(at: part) }
        if rows.count < routeLimit {
            rows[place, default: RecentTotals(event.exchange.scope, parts: parts)].add(event, in: part)
        } else {
            others[event.exchange.scope, default: RecentTotals(event.exchange.scope, parts: parts)].add(event, in: part)
        }
    }

    /// The row of a place, mostly the same as for the event before.
    private mutating func index(of place: Place, in scope: ExchangeEvent.Scope) -> Rows.Index? {
        let known = scope == .call ? latest.ofCalls : latest.ofAttempts
        if let known, rows.keys[known] == place { return known }
        guard let index = rows.index(forKey: place) else { return nil }
        if scope == .call { latest.ofCalls = index } else { latest.ofAttempts = index }
        return index
    }

    mutating func removeAll() {
        latest = Latest()
        rows = [:]
        others = [:]
    }

    /// The rows that have counts in the parts up to `part`.
    func totals(at part: Int) -> [StatisticsSnapshot.Row] {
        var totals: [Key: StatisticsSnapshot.Row] = [:]
        func add(_ recent: RecentTotals, _ key: Key) {
            guard var sum = recent.sum(upTo: part) else { return }
            (sum.method, sum.route) = (key.method, key.route)
            // A route may have the name of an origin.
            if totals[key]?.add(sum) == nil { totals[key] = sum }
        }
        for (place, row) in rows { add(row, place.key) }
        for (scope, row) in others { add(row, Key(scope: scope, method: "*", route: "(other)")) }
        return Array(totals.values)
    }

    /// Removes the rows without a count in the window, once in each part: a flood of new routes must not cause a search
    /// of all rows for each of them.
    private mutating func removeOutdatedRows(at part: Int) {
        guard parts != nil, part > lastRemoval else { return }
        lastRemoval = part
        rows = rows.filter { $0.value.isRecent(at: part) }
    }
}

/// The counts of a row in the last parts of time, as a ring.
private struct RecentTotals: Sendable {
    private struct Part {
        let number: Int
        var totals: StatisticsSnapshot.Row
    }

    private let scope: ExchangeEvent.Scope
    private let limit: Int
    private let precision: Histogram.Precision
    private var ring: [Part] = []

    init(_ scope: ExchangeEvent.Scope, parts: Int?) {
        self.scope = scope
        limit = parts ?? 1
        precision = parts == nil ? .onePercent : .fourPercent
    }

    mutating func add(_ event: ExchangeEvent, in number: Int) {
        if let index = ring.indices.last, ring[index].number == number {
            ring[index].totals.add(event)
            return
        }
        if ring.count == limit { ring.removeFirst() }
        var part = Part(number: number, totals: StatisticsSnapshot.Row(scope, precision))
        part.totals.add(event)
        ring.append(part)
    }

    func isRecent(at number: Int) -> Bool {
        ring.last.map { $0.number > number - limit } ?? false
    }

    /// The sum of the counts in the parts up to `number`; nil without counts.
    func sum(upTo number: Int) -> StatisticsSnapshot.Row? {
        guard isRecent(at: number) else { return nil }
        var sum = StatisticsSnapshot.Row(scope, precision)
        for part in ring where part.number > number - limit { sum.add(part.totals) }
        return sum
    }
}

/// Counts durations in buckets whose width grows with the value, so that every percentile is nearly exact with little
/// memory.
///
/// Up to 63 µs, each microsecond has a bucket; above, each doubling is divided into 64 buckets. With
/// ``Precision/fourPercent``, that is up to 15 µs and into 16 buckets. A duration of more than 19 hours counts as 19
/// hours, so that there are fewer than 2,000 buckets, or 530; buckets above the longest duration so far are not
/// allocated.
struct Histogram: Sendable, Hashable {
    /// How far a percentile may be from the exact one.
    enum Precision: Sendable {
        case onePercent
        case fourPercent
    }

    private static let maximum: UInt64 = 1 << 36 - 1

    /// The logarithm of the number of buckets for each doubling.
    private let bits: Int
    private var buckets: [UInt64] = []
    private(set) var count: UInt64 = 0
    private var shortest = UInt64.max
    private var longest: UInt64 = 0

    init(_ precision: Precision = .onePercent) {
        bits = precision == .onePercent ? 6 : 4
    }

    mutating func record(_ duration: Duration) {
        let value = Self.microseconds(duration)
        let index = index(of: value)
        grow(to: index + 1)
        buckets[index] += 1
        count += 1
        shortest = min(shortest, value)
        longest = max(longest, value)
    }

    /// Adds the durations of another histogram of the same precision.
    mutating func add(_ other: Histogram) {
        grow(to: other.buckets.count)
        for (index, bucket) in other.buckets.enumerated() { buckets[index] += bucket }
        count += other.count
        shortest = min(shortest, other.shortest)
        longest = max(longest, other.longest)
    }

    private mutating func grow(to size: Int) {
        guard size > buckets.count else { return }
        buckets.append(contentsOf: repeatElement(0, count: size - buckets.count))
    }

    /// The duration that a share of all durations does not exceed, by the nearest rank; nil without durations.
    ///
    /// A share is from 0 to 1; a number outside of this range is replaced by the nearest bound, and NaN by 0.
    func percentile(_ share: Double) -> Duration? {
        guard count > 0 else { return nil }
        let share = share.isNaN ? 0 : min(max(share, 0), 1)
        let rank = max(1, UInt64((share * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (index, bucket) in buckets.enumerated() {
            seen += bucket
            if seen >= rank {
                return .microseconds(min(max(middle(of: index), shortest), longest))
            }
        }
        return .microseconds(longest)
    }

    private static func microseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = max(duration, .zero).bounded.components
        guard seconds < 100_000 else { return maximum }
        return min(UInt64(seconds * 1_000_000 + attoseconds / 1_000_000_000_000), maximum)
    }

    private func index(of value: UInt64) -> Int {
        guard value >> bits > 0 else { return Int(value) }
        let shift = UInt64.bitWidth - bits - 1 - value.leadingZeroBitCount
        return shift << bits + Int(value >> UInt64(shift))
    }

    private func middle(of index: Int) -> UInt64 {
        guard index >> bits > 1 else { return UInt64(index) }
        let shift = UInt64(index >> bits - 1)
        let perDoubling = 1 << bits
        return UInt64(index % perDoubling + perDoubling) << shift + (1 << shift) / 2
    }
}
