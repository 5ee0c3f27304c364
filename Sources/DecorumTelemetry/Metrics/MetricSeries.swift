#if Metrics
import Decorum
import Metrics

/// The values of the attributes of a metric; those that the metric does not have are nil.
///
/// It is not copied, since a copy of its texts takes longer than the rest of a measurement.
struct MetricSeries: ~Copyable {
    /// The server that is asked, without the scheme, which is no attribute.
    struct Server: Hashable {
        let address: String
        /// The port; nil for the servers beyond the limit.
        let port: Int?
    }

    let metric: ClientMetric
    var method = MetricTable.other
    var route: String?
    var server: Server?
    var statusCode: Int?
    /// The name of the error; nil if there was none, or if the status tells it.
    var failure: String?
    /// The version of HTTP with its name, the result of the cache, or the reason of a wait, as the metric has it.
    var detail: String?

    init(_ metric: ClientMetric) {
        self.metric = metric
    }

    /// The series of a metric that distinguishes routes, and perhaps outcomes.
    init(
        _ metric: ClientMetric, of report: borrowing CallReport, detail: String? = nil, hasOutcome: Bool = false
    ) {
        self.metric = metric
        method = report.methodName ?? MetricTable.other
        route = report.routeName
        server = report.origin.map { Server(address: $0.host, port: $0.port) }
        self.detail = detail
        guard hasOutcome else { return }
        statusCode = report.statusCode
        switch report.outcome {
        case .cancelled: failure = "cancelled"
        case .failed(let name): if (statusCode ?? 0) < 400 { failure = name }
        case .finished, .abandoned: break
        }
    }

    init(activeRequest method: String, to server: Server?) {
        metric = .activeRequests
        (self.method, self.server) = (method, server)
    }

    /// A number from 0 to 255 that few series share.
    // A hash of all parts would take longer than the rest of a measurement.
    var place: Int {
        var place = UInt(bitPattern: statusCode ?? 0)
        if let route {
            // Safe: the bytes are read only within the closure.
            let sum = unsafe route.utf8.withContiguousStorageIfAvailable { bytes in
                unsafe bytes.reduce(place) { $0 &* 31 &+ UInt($1) }
            }
            place = sum ?? place
        } else if let server {
            place = place &* 31 &+ UInt(bitPattern: (server.port ?? 0) &+ server.address.utf8.count)
        }
        return Int(truncatingIfNeeded: place ^ place >> 8) & 0xFF
    }

    /// Whether both are the same; the parts that differ most often come first.
    func matches(_ other: borrowing MetricSeries) -> Bool {
        metric == other.metric && statusCode == other.statusCode && route == other.route && method == other.method
            && server?.address == other.server?.address && server?.port == other.server?.port
            && failure == other.failure && detail == other.detail
    }

    /// The names and values of the attributes; `absent` is the value of one that has none, or nil to leave it out.
    func dimensions(absent: String?) -> [(String, String)] {
        var values: [(name: String, value: String?)] = [
            ("http.request.method", method), ("server.address", server?.address.withoutBrackets),
            ("server.port", server?.port.map(String.init)),
        ]
        if metric != .activeRequests { values.append(("url.template", route)) }
        let errorType = failure ?? statusCode.flatMap { $0 >= 400 ? String($0) : nil }
        switch metric {
        case .requestDuration, .requestSize, .responseSize, .callDuration:
            values += [("error.type", errorType), ("http.response.status_code", statusCode.map(String.init))]
            guard metric != .callDuration else { break }
            values.append(("network.protocol.version", detail?.protocolNumber))
        case .refusals: values.append(("error.type", errorType))
        case .cacheRequests: values.append(("decorum.cache.result", detail))
        case .wait: values.append(("decorum.wait.reason", detail))
        case .activeRequests, .retries, .refusedRetries, .coalescedCalls: break
        }
        return values.compactMap { name, value in (value ?? absent).map { (name, $0) } }
    }
}

/// The handlers of the series that were measured, and the values that their attributes have had.
struct MetricTable {
    enum Handler {
        case exchange(any TimerHandler, sent: any RecorderHandler, received: any RecorderHandler)
        case timer(any TimerHandler)
        case counter(any CounterHandler)
        case meter(any MeterHandler)
    }

    /// A series with its handler.
    final class Row: Sendable {
        let series: MetricSeries
        let handler: Handler
        /// The meter of the active requests to the same server, of a series of attempts whose values are within the limits.
        let active: (any MeterHandler)?

        init(_ series: consuming MetricSeries, handler: Handler, active: (any MeterHandler)?) {
            self.series = series
            (self.handler, self.active) = (handler, active)
        }
    }

    static let other = "_OTHER"

    let factory: any MetricsFactory
    let limit: Int
    let absent: String?
    private var rows = [[Row]](repeating: [], count: 256)
    private var count = 0
    private var routes: Set<String> = []
    private var servers: Set<MetricSeries.Server> = []
    private var names: Set<String> = []

    init(factory: any MetricsFactory, limit: Int, absent: String?) {
        (self.factory, self.limit, self.absent) = (factory, max(0, limit), absent)
    }

    /// The row of a series, which is made when it is first measured.
    mutating func row(of series: borrowing MetricSeries) -> Row {
        let place = series.place
        if let row = find(series, at: place) { return row }
        let bounded = bounded(series)
        let boundedPlace = bounded.place
        if let row = find(bounded, at: boundedPlace) { return row }
        var active: (any MeterHandler)?
        if series.metric == .requestDuration, bounded.matches(series) {
            let begun = MetricSeries(activeRequest: series.method, to: series.server)
            if case .meter(let meter) = find(begun, at: begun.place)?.handler { active = meter }
        }
        let handler = makeHandler(of: bounded)
        let row = Row(bounded, handler: handler, active: active)
        rows[boundedPlace].append(row)
        count += 1
        return row
    }

    mutating func meter(ofActive method: String, to server: MetricSeries.Server?) -> (any MeterHandler)? {
        let row = row(of: MetricSeries(activeRequest: method, to: server))
        return if case .meter(let meter) = row.handler { meter } else { nil }
    }

    private func find(_ series: borrowing MetricSeries, at place: Int) -> Row? {
        for row in rows[place] where row.series.matches(series) { return row }
        return nil
    }

    /// The series with `_OTHER` in place of values beyond the limits.
    private mutating func bounded(_ series: borrowing MetricSeries) -> MetricSeries {
        let limit = count / 20 >= limit ? 0 : limit
        func admits<Value>(_ value: Value, to known: inout Set<Value>) -> Bool {
            limit > 0 && (known.contains(value) || known.count < limit && known.insert(value).inserted)
        }
        func bound(_ value: String?, in known: inout Set<String>) -> String? {
            value.map { admits($0, to: &known) ? $0 : Self.other }
        }
        var bounded = MetricSeries(series.metric)
        bounded.method = HTTPRequest.Method.known.contains(series.method) ? series.method : Self.other
        bounded.route = bound(series.route, in: &routes)
        bounded.server = series.server.map {
            admits($0, to: &servers) ? $0 : MetricSeries.Server(address: Self.other, port: nil)
        }
        bounded.statusCode = limit > 0 ? series.statusCode : nil
        bounded.failure = bound(series.failure, in: &names)
        bounded.detail = bound(series.detail, in: &names)
        return bounded
    }

    private func makeHandler(of series: borrowing MetricSeries) -> Handler {
        let metric = series.metric
        let dimensions = series.dimensions(absent: absent)
        func timer() -> any TimerHandler {
            let handler = factory.makeTimer(label: metric.rawValue, dimensions: dimensions)
            handler.preferDisplayUnit(.seconds)
            return handler
        }
        func recorder(_ metric: ClientMetric) -> any RecorderHandler {
            factory.makeRecorder(label: metric.rawValue, dimensions: dimensions, aggregate: true)
        }
        switch metric {
        case .requestDuration, .requestSize, .responseSize:
            return .exchange(timer(), sent: recorder(.requestSize), received: recorder(.responseSize))
        case .callDuration, .wait: return .timer(timer())
        case .activeRequests:
            return .meter(factory.makeMeter(label: metric.rawValue, dimensions: dimensions))
        case .retries, .refusedRetries, .refusals, .cacheRequests, .coalescedCalls:
            return .counter(factory.makeCounter(label: metric.rawValue, dimensions: dimensions))
        }
    }
}
#endif
