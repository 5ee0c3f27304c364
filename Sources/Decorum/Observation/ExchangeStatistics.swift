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
/// exchanges are counted in one row named `(other)` for calls and one for attempts. A row takes at most 16 KB.
///
/// An exchange ends with its body. An error in later work is not counted, such as content that a typed call cannot decode.
/// For windows of time and for a back end, use the metrics of `DecorumTelemetry`.
public final class ExchangeStatistics: CallObserver, CustomStringConvertible {
    private struct Table {
        var rows: [RouteKey: StatisticsSnapshot.Row] = [:]
        /// The number of rows, without those for other routes.
        var routes = 0
    }

    private let routeLimit: Int
    private let table = Mutex(Table())

    /// Creates empty statistics.
    ///
    /// - Parameter routeLimit: The largest number of rows, without the rows for other routes; a negative number counts as 0.
    public init(routeLimit: Int = 100) {
        self.routeLimit = max(0, routeLimit)
    }

    /// Only the start and the end of an exchange.
    public var getsAllEvents: Bool { false }

    /// Counts an exchange that has ended.
    public func ended(_ report: CallReport) {
        let key = RouteKey(report)
        table.withLock { table in
            if let index = table.rows.index(forKey: key) { return table.rows.values[index].add(report) }
            let isNew = table.routes < routeLimit
            let key = isNew ? key : RouteKey(otherRoutesIn: report.scope)
            table.routes += isNew ? 1 : 0
            table.rows[key, default: .init(key)].add(report)
        }
    }

    /// Removes all counts.
    public func reset() { table.withLock { $0 = Table() } }

    /// Reads all counts at one moment.
    ///
    /// - Returns: A row for each method and route; calls come before attempts, and frequent rows come first.
    public func snapshot() -> StatisticsSnapshot {
        StatisticsSnapshot(rows: table.withLock { Array($0.rows.values) }.sorted { $0.precedes($1) })
    }

    /// The table of all counts at this moment.
    public var description: String { snapshot().description }
}

/// The counts of ``ExchangeStatistics`` at one moment; it prints as a table.
public struct StatisticsSnapshot: Sendable, Hashable {
    /// The counts of one method and route.
    public struct Row: Sendable, Hashable {
        /// Whether the row counts calls or attempts.
        public let scope: CallReport.Scope
        /// The method; `*` for the row of all other routes.
        public let method: String
        /// The route name; without a route name, the origin.
        public let route: String
        /// The number of exchanges.
        public private(set) var count = 0
        /// How many of them failed, or were answered with a status of 4xx or 5xx.
        public private(set) var errors = 0
        /// How many of them were cancelled.
        public private(set) var cancelled = 0
        /// How many of them were answered with a stored response that no server confirmed.
        public private(set) var hits = 0
        /// How many of them were answered with a stored response that a server confirmed.
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

        private var durations = Histogram()

        fileprivate init(_ key: RouteKey) {
            (scope, method) = (key.scope, key.method)
            route = key.scheme.isEmpty ? key.name : "\(key.scheme)://\(key.name)"
        }

        fileprivate mutating func add(_ report: CallReport) {
            count += 1
            errors += report.isError ? 1 : 0
            hits += report.source == .cache ? 1 : 0
            revalidations += report.source == .revalidated ? 1 : 0
            retries &+= max(0, report.retries)
            attempts &+= max(0, report.attemptCount ?? 0)
            bytesSent &+= report.bytesSent
            bytesReceived &+= report.bytesReceived

            let duration = report.duration ?? .zero
            switch report.outcome {
            case .cancelled: cancelled += 1
            case .finished, .failed: durations.record(duration)
            // The time until the reader dropped the body says nothing about the server.
            case .abandoned: durations.record(report.timeToHead ?? duration)
            }
        }
    }

    /// The rows: calls before attempts, the most frequent first.
    public let rows: [Row]
}

extension StatisticsSnapshot.Row {
    fileprivate func precedes(_ other: Self) -> Bool {
        if scope != other.scope { return scope == .call }
        if count != other.count { return count > other.count }
        return (route, method) < (other.route, other.method)
    }

    fileprivate var cells: [String] {
        [scope.rawValue, method, route] + [count, errors, cancelled].map { "\($0)" }
            + [p50, p90, p99].map { $0?.shortText ?? "-" } + [hits, revalidations, retries, attempts].map { "\($0)" }
            + [bytesSent, bytesReceived].map { "\($0)" }
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

/// The place of a row, for which the text of an origin need not be made.
private struct RouteKey: Sendable, Hashable {
    let scope: CallReport.Scope
    let method: String
    /// The route; without one, the authority of the origin.
    let name: String
    /// The scheme of the origin; empty with a route.
    let scheme: String

    init(_ report: borrowing CallReport) {
        scope = report.scope
        method = report.methodName?.cut(toBytes: 32) ?? "?"
        let asked = report.askedOrigin ?? report.askedURL?.origin.map { AskedOrigin($0) }
        let origin = report.routeName == nil ? asked?.parts : nil
        name = report.routeName ?? origin?.authority.cut(toBytes: 120) ?? "(no origin)"
        scheme = origin?.scheme ?? ""
    }

    init(otherRoutesIn scope: CallReport.Scope) {
        (self.scope, method, name, scheme) = (scope, "*", "(other)", "")
    }

    // Nearly all rows differ in these two.
    func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(scope == .call)
    }
}

/// Counts durations in buckets whose width grows with the value, so that every percentile is nearly exact with little
/// memory.
///
/// Up to 63 µs, each microsecond has a bucket; above, each doubling is divided into 64 buckets, so that a percentile is within
/// one percent. A duration of more than 19 hours counts as 19 hours, so that there are fewer than 2,000 buckets; buckets
/// above the longest duration so far are not allocated.
struct Histogram: Sendable, Hashable {
    private static let maximum: UInt64 = 1 << 36 - 1

    /// The logarithm of the number of buckets for each doubling.
    private static let bits = 6
    private var buckets: [UInt64] = []
    private(set) var count: UInt64 = 0
    private var shortest = UInt64.max
    private var longest: UInt64 = 0

    mutating func record(_ duration: Duration) {
        let value = Self.microseconds(duration)
        let index = Self.index(of: value)
        if index >= buckets.count {
            buckets.append(contentsOf: repeatElement(0, count: index + 1 - buckets.count))
        }
        buckets[index] += 1
        count += 1
        shortest = min(shortest, value)
        longest = max(longest, value)
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
                return .microseconds(min(max(Self.middle(of: index), shortest), longest))
            }
        }
        return .microseconds(longest)
    }

    private static func microseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.parts
        guard seconds < 100_000 else { return maximum }
        return min(UInt64(seconds * 1_000_000 + attoseconds / 1_000_000_000_000), maximum)
    }

    private static func index(of value: UInt64) -> Int {
        guard value >> bits > 0 else { return Int(value) }
        let shift = UInt64.bitWidth - bits - 1 - value.leadingZeroBitCount
        return shift << bits + Int(value >> UInt64(shift))
    }

    private static func middle(of index: Int) -> UInt64 {
        guard index >> bits > 1 else { return UInt64(index) }
        let shift = UInt64(index >> bits - 1)
        let perDoubling = 1 << bits
        return UInt64(index % perDoubling + perDoubling) << shift + (1 << shift) / 2
    }
}
