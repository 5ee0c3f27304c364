/// The counts of ``ExchangeStatistics`` at one moment; it prints as a table.
public struct StatisticsSnapshot: Sendable, Hashable {
    /// The counts of one method and route.
    public struct Row: Sendable, Hashable {
        /// Whether the row counts calls or attempts.
        public let scope: ExchangeEvent.Scope
        /// The method; `*` for the row of all other routes.
        public let method: String
        /// The route name; without a route name, the origin.
        public let route: String
        /// The number of exchanges.
        public let count: Int
        /// How many of them failed, or were answered with a status of 4xx or 5xx.
        public let errors: Int
        /// How many of them were cancelled.
        public let cancelled: Int
        /// How many of them got a response, whatever its status.
        public let responses: Int
        /// How many of these responses were stored ones that no server confirmed: fresh, or stale where that is allowed.
        public let hits: Int
        /// How many of these responses were stored ones that a server confirmed.
        public let revalidations: Int
        /// How often requests were sent again after a temporary failure, over all calls; 0 for attempts.
        public let retries: Int
        /// The number of attempts over all exchanges.
        public let attempts: Int
        /// The bytes of all request bodies.
        public let bytesSent: Int64
        /// The bytes of all response bodies, as far as they were read, also of stored responses.
        public let bytesReceived: Int64
        /// The duration that half of the exchanges do not exceed.
        public let p50: Duration?
        /// The duration that 90 % of the exchanges do not exceed.
        public let p90: Duration?
        /// The duration that 99 % of the exchanges do not exceed.
        public let p99: Duration?

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

    init(_ totals: [StatisticsTable.Key: RouteTotals]) {
        rows = totals.map { Row($0, $1) }.sorted { $0.precedes($1) }
    }
}

extension StatisticsSnapshot.Row {
    fileprivate init(_ key: StatisticsTable.Key, _ totals: RouteTotals) {
        scope = key.scope
        method = key.method
        route = key.route
        count = totals.count
        errors = totals.errors
        cancelled = totals.cancelled
        responses = totals.responses
        hits = totals.hits
        revalidations = totals.revalidations
        retries = totals.retries
        attempts = totals.attempts
        bytesSent = totals.bytesSent
        bytesReceived = totals.bytesReceived
        p50 = totals.durations.percentile(0.5)
        p90 = totals.durations.percentile(0.9)
        p99 = totals.durations.percentile(0.99)
    }

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
