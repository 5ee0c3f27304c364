/// The counts of all routes; each row keeps those of the last parts of time.
struct StatisticsTable: Sendable {
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
            scope = event.scope
            method = event.method.rawValue.cut(toBytes: 32)
            let origin = event.routeName == nil ? event.origin : nil
            // A port and the marks take fewer than 28 bytes.
            let isLong = origin.map { $0.host.utf8.count > Self.lengthLimit - 28 } ?? false
            let text = isLong ? origin?.description : event.routeName
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
    /// The number of parts that are kept; nil where all time is one part.
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
        if let index = index(of: place, in: event.scope) {
            rows.values[index].add(event, in: part)
            return
        }
        latest = Latest()
        if rows.count >= routeLimit { removeOutdatedRows(at: part) }
        if rows.count < routeLimit {
            rows[place, default: RecentTotals(parts: parts)].add(event, in: part)
        } else {
            others[event.scope, default: RecentTotals(parts: parts)].add(event, in: part)
        }
    }

    /// The row of a place, which is that of the event before it in most cases.
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
    func totals(at part: Int) -> [Key: RouteTotals] {
        var totals: [Key: RouteTotals] = [:]
        for (place, row) in rows {
            guard let sum = row.sum(upTo: part) else { continue }
            // A route may have the name of an origin.
            let key = place.key
            if totals[key]?.add(sum) == nil { totals[key] = sum }
        }
        for (scope, row) in others {
            totals[Key(scope: scope, method: "*", route: "(other)")] = row.sum(upTo: part)
        }
        return totals
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
struct RecentTotals: Sendable {
    private struct Part {
        let number: Int
        var totals: RouteTotals
    }

    private let limit: Int
    private let precision: Histogram.Precision
    private var ring: [Part] = []

    init(parts: Int?) {
        limit = parts ?? 1
        precision = parts == nil ? .onePercent : .fourPercent
    }

    mutating func add(_ event: ExchangeEvent, in number: Int) {
        if let index = ring.indices.last, ring[index].number == number {
            ring[index].totals.add(event)
            return
        }
        if ring.count == limit { ring.removeFirst() }
        var part = Part(number: number, totals: RouteTotals(precision))
        part.totals.add(event)
        ring.append(part)
    }

    func isRecent(at number: Int) -> Bool {
        ring.last.map { $0.number > number - limit } ?? false
    }

    /// The sum of the counts in the parts up to `number`; nil without counts.
    func sum(upTo number: Int) -> RouteTotals? {
        guard isRecent(at: number) else { return nil }
        var sum = RouteTotals(precision)
        for part in ring where part.number > number - limit { sum.add(part.totals) }
        return sum
    }
}
