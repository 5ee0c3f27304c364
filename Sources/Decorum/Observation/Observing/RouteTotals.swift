/// The counts of one method and route.
struct RouteTotals: Sendable {
    private(set) var count = 0
    private(set) var errors = 0
    private(set) var cancelled = 0
    private(set) var responses = 0
    private(set) var hits = 0
    private(set) var revalidations = 0
    private(set) var retries = 0
    private(set) var attempts = 0
    private(set) var bytesSent: Int64 = 0
    private(set) var bytesReceived: Int64 = 0
    private(set) var durations: Histogram

    init(_ precision: Histogram.Precision) {
        durations = Histogram(precision)
    }

    mutating func add(_ event: ExchangeEvent) {
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

    mutating func add(_ other: RouteTotals) {
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
}
