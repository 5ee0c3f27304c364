#if Metrics
public import Decorum
public import Metrics
import Synchronization

/// Measures calls and attempts with swift-metrics, by the names of OpenTelemetry's semantic conventions for HTTP clients.
///
/// Create one after the app has set up its back end, and let it observe attempts and calls:
///
/// ```swift
/// let metrics = CallMetrics()
/// let connection = transport.observing(metrics, as: .attempt).retrying().observing(metrics)
/// let stack = try StandardStack(.app).composed(observer: metrics, attemptObserver: metrics)
/// ```
///
/// | metric | kind, unit | of | attributes besides `http.request.method`, `server.address`, `server.port` |
/// |---|---|---|---|
/// | `http.client.request.duration` | timer, s | attempts | `url.template`, `http.response.status_code`, `error.type`, `network.protocol.version` |
/// | `http.client.request.body.size`, `http.client.response.body.size` | recorder, By | attempts | the same; of a request without a body, and without a response, there is no size |
/// | `http.client.active_requests` | meter, {request} | attempts | – |
/// | `decorum.client.call.duration` | timer, s | calls | `url.template`, `http.response.status_code`, `error.type` |
/// | `decorum.client.active_calls` | meter, {call} | calls | none at all, since the origin of a call may not be known yet |
/// | `decorum.client.retries`, `decorum.client.refused_retries` | counter, {retry} | calls | `url.template` |
/// | `decorum.client.refusals` | counter, {call} | calls that failed before anything was sent | `url.template`, `error.type`, as in `CircuitOpenError` |
/// | `decorum.client.cache.requests` | counter, {request} | calls with a cache | `url.template`, `decorum.cache.result`: `hit`, or the reason of RFC 9211 why it forwarded the request |
/// | `decorum.client.coalesced_calls` | counter, {call} | calls that share the request of another one | `url.template` |
/// | `decorum.client.wait` | timer, s | calls that had to wait | `url.template`, `decorum.wait.reason`: `pacing`, or `pool` for a connection |
///
/// The template is the name of the route, and no value comes from a URL but its origin. A duration ends with the body. The
/// `error.type` is the status from 400 on, the name of the error, or `cancelled`, which tells the durations of cancelled
/// requests apart. An unknown method, and a route, an origin, an error or a detail beyond the limit is `_OTHER`.
///
/// An app adds what it can read, without attributes: the number of connections that the transport has open, and the number
/// of requests that wait in a limiter. OpenTelemetry demands the state and the server of each connection, which transports do
/// not tell, so the first has the name of the convention and only its total.
///
/// Handlers are made when a series is first measured and kept as long as the back end, since destroying one would lose what
/// another instance has measured with it. Their number is bounded by the limits.
///
/// ## Buckets
///
/// Back ends for Prometheus and OpenTelemetry have buckets of their own, which are set with ``durationBuckets``:
///
/// ```swift
/// var factory = PrometheusMetricsFactory()
/// factory.defaultDurationHistogramBuckets = CallMetrics.durationBuckets
/// MetricsSystem.bootstrap(factory)
/// ```
///
/// See OpenTelemetry's “Semantic conventions for HTTP metrics”, version 1.44.0.
public final class CallMetrics: CallObserver {
    /// The bounds of buckets that the conventions demand for `http.client.request.duration`.
    public static let durationBuckets: [Duration] =
        [5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000].map { .milliseconds($0) }

    /// The units of all metrics by their names, in UCUM, for a back end that shows them.
    public static let units: [String: String] = Dictionary(
        uniqueKeysWithValues: ClientMetric.allCases.map { ($0.rawValue, $0.unit) }
            + [
                ("http.client.open_connections", "{connection}"), ("decorum.client.active_calls", "{call}"),
                ("decorum.client.queue.length", "{request}"),
            ])

    /// An attempt under way whose origin was not known when it began.
    private struct Unresolved: Hashable {
        let call: UInt64
        let attempt: Int?
    }

    private struct State {
        var table: MetricTable
        var unresolved: Set<Unresolved> = []
    }

    private let state: Mutex<State>
    private let activeCalls: any MeterHandler
    private let gauges: [(meter: any MeterHandler, read: @Sendable () -> Int?)]

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - factory: The back end; the one of the system at this time by default.
    ///   - limit: The number of routes, of origins, and of names of errors and details to tell apart, and a twentieth of the
    ///     number of series in all.
    ///   - absent: The value of an attribute that has none, such as the status of a request that failed. An empty text is
    ///     the same as no attribute for Prometheus, some of whose back ends end the process if the series of a metric have
    ///     different attributes. Pass nil to leave such attributes out, as the conventions demand.
    ///   - gauges: Meters by their names, as in `["http.client.open_connections": { transport.openConnections }]` and
    ///     `["decorum.client.queue.length": { limiter.snapshot.all.waiting }]`, which are read whenever an exchange begins or
    ///     ends; nil where a number is not known.
    public init(
        factory: any MetricsFactory = MetricsSystem.factory, limit: Int = 100, absent: String? = "",
        gauges: [String: @Sendable () -> Int?] = [:]
    ) {
        state = Mutex(State(table: MetricTable(factory: factory, limit: limit, absent: absent)))
        activeCalls = factory.makeMeter(label: "decorum.client.active_calls", dimensions: [])
        self.gauges = gauges.map { (factory.makeMeter(label: $0.key, dimensions: []), $0.value) }
    }

    /// Only the start and the end.
    public var getsAllEvents: Bool { false }

    /// Counts an exchange that begins.
    public func started(_ exchange: ObservedExchange) {
        readGauges()
        guard exchange.scope == .attempt else { return activeCalls.increment(by: 1) }
        let server = exchange.origin.map { MetricSeries.Server(address: $0.host, port: $0.port) }
        let unresolved = server == nil ? Unresolved(call: exchange.callID, attempt: exchange.attempt) : nil
        let meter = state.withLock { state in
            if let unresolved { state.unresolved.insert(unresolved) }
            return state.table.meter(ofActive: exchange.method.rawValue, to: server)
        }
        meter?.increment(by: 1)
    }

    /// Measures an exchange that has ended.
    public func ended(_ report: CallReport) {
        switch report.scope {
        case .call: measureCall(report)
        case .attempt: measureAttempt(report)
        }
        readGauges()
    }

    private func measureAttempt(_ report: CallReport) {
        let series = MetricSeries(
            .requestDuration, of: report, detail: report.timings?.protocolVersion, hasOutcome: true)
        let id = Unresolved(call: report.callID ?? 0, attempt: report.attempt)
        let (row, active) = state.withLock { state in
            let row = state.table.row(of: series)
            let isUnresolved = !state.unresolved.isEmpty && state.unresolved.remove(id) != nil
            if !isUnresolved, let active = row.active { return (row, Optional(active)) }
            return (row, state.table.meter(ofActive: series.method, to: isUnresolved ? nil : series.server))
        }
        active?.decrement(by: 1)
        if case .exchange(let timer, let sent, let received) = row.handler {
            if let duration = report.duration { timer.record(duration) }
            if let size = report.requestSize { sent.record(size) }
            if let size = report.responseSize { received.record(size) }
        }
    }

    private func measureCall(_ report: CallReport) {
        activeCalls.decrement(by: 1)
        if let duration = report.duration {
            record(duration, in: MetricSeries(.callDuration, of: report, hasOutcome: true))
        }
        if report.retries > 0 { count(report.retries, in: MetricSeries(.retries, of: report)) }
        if report.retryRefusal != nil { count(in: MetricSeries(.refusedRetries, of: report)) }
        if case .failed = report.outcome, report.attemptCount == nil, report.statusCode == nil {
            count(in: MetricSeries(.refusals, of: report, hasOutcome: true))
        }
        if let cache = report.cache { count(in: MetricSeries(.cacheRequests, of: report, detail: cache.result)) }
        if report.isCoalesced { count(in: MetricSeries(.coalescedCalls, of: report)) }
        if report.pacingWait > .zero {
            record(report.pacingWait, in: MetricSeries(.wait, of: report, detail: "pacing"))
        }
        if let queued = report.timings?.queued, queued > .zero {
            record(queued, in: MetricSeries(.wait, of: report, detail: "pool"))
        }
    }

    private func readGauges() {
        for (meter, read) in gauges {
            if let number = read() { meter.set(Int64(number)) }
        }
    }

    private func row(of series: borrowing MetricSeries) -> MetricTable.Row {
        state.withLock { $0.table.row(of: series) }
    }

    private func count(_ number: Int = 1, in series: borrowing MetricSeries) {
        if case .counter(let counter) = row(of: series).handler { counter.increment(by: Int64(number)) }
    }

    private func record(_ duration: Duration, in series: borrowing MetricSeries) {
        if case .timer(let timer) = row(of: series).handler { timer.record(duration) }
    }
}

extension TimerHandler {
    /// Records a duration; one that is too long for nanoseconds counts as the longest.
    fileprivate func record(_ duration: Duration) {
        recordNanoseconds(Int64(clamping: duration.attoseconds / 1_000_000_000))
    }
}
#endif
