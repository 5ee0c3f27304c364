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
/// A row stands for a method and a route name, or for a method and an origin when the request has no route name; calls
/// and attempts have separate rows. When the number of rows has reached the limit, all further exchanges are counted in
/// one row named `(other)` for calls and one for attempts. A row takes at most 16 KB.
public final class ExchangeStatistics: ExchangeObserver {
    struct Key: Sendable, Hashable {
        var scope: ExchangeEvent.Scope
        var method: String
        var route: String

        // The route alone distinguishes nearly all keys.
        func hash(into hasher: inout Hasher) { hasher.combine(route) }
    }

    private let routeLimit: Int
    private let totals = Mutex<[Key: RouteTotals]>([:])

    /// Creates empty statistics.
    ///
    /// - Parameter routeLimit: The largest number of rows, without the rows for other routes; a negative number counts
    ///   as 0.
    public init(routeLimit: Int = 100) {
        self.routeLimit = max(0, routeLimit)
    }

    /// Counts an exchange.
    public func record(_ event: ExchangeEvent) {
        let route = event.routeName ?? event.origin?.description ?? "(no origin)"
        let key = Key(scope: event.scope, method: event.method.rawValue.start(32), route: route.start(128))

        totals.withLock { totals in
            if let index = totals.index(forKey: key) {
                totals.values[index].add(event)
                return
            }
            let other = Key(scope: event.scope, method: "*", route: "(other)")
            totals[totals.count < routeLimit ? key : other, default: RouteTotals()].add(event)
        }
    }

    /// Removes all counts.
    public func reset() {
        totals.withLock { $0 = [:] }
    }

    /// Reads all counts at one moment.
    ///
    /// - Returns: A row for each method and route; calls come before attempts, and frequent rows come first.
    public func snapshot() -> StatisticsSnapshot {
        StatisticsSnapshot(totals.withLock { $0 })
    }
}

extension ExchangeStatistics: CustomStringConvertible {
    /// The table of all counts at this moment.
    public var description: String { snapshot().description }
}

/// The counts of one method and route.
struct RouteTotals: Sendable {
    private(set) var count = 0
    private(set) var errors = 0
    private(set) var cancelled = 0
    private(set) var attempts = 0
    private(set) var bytesSent: Int64 = 0
    private(set) var bytesReceived: Int64 = 0
    private(set) var durations = Histogram()

    mutating func add(_ event: ExchangeEvent) {
        count += 1
        errors += event.isError ? 1 : 0
        attempts += max(0, event.attempts ?? 1)
        bytesSent &+= event.bytesSent
        bytesReceived &+= event.bytesReceived

        switch event.outcome {
        case .cancelled: cancelled += 1
        case .finished, .failed: durations.record(event.duration)
        // The time until the reader dropped the body says nothing about the server.
        case .abandoned: durations.record(event.timeToHead ?? event.duration)
        }
    }
}

extension String {
    /// The first characters; nearly always the whole text.
    fileprivate func start(_ limit: Int) -> String {
        utf8.count <= limit ? self : String(prefix(limit))
    }
}
