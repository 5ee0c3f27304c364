import Decorum
import DecorumArchive
import DecorumTelemetry
import Foundation

#if Logging
import Logging
#elseif canImport(os)
import os
#endif
#if Metrics
import Metrics
#endif

/// The listings of the symbols and of the page; those whose names meet are in functions of their own.
struct TelemetryListings {
    let transport: any Connection

    func recentReports() {
        let recent = RecentReports()
        let connection = transport.observing(recent, as: .attempt).retrying().observing(recent)
        print(Waterfall(recent.reports))
        _ = connection
    }

    func outputs(response: Response, recent: RecentReports, request: Request, file: URL) throws {
        print(Waterfall(response.report))
        let page = Waterfall(recent.reports).page(titled: "Feed")
        try Data(page.utf8).write(to: file)

        try HAR(recent.reports).document().write(to: file)

        print(request.curlCommand())
        // curl 'https://api.example/items?page=2' \
        //   -H 'Authorization: '"$AUTHORIZATION"
    }

    func chart(connection: some Connection) {
        print(connection.flowchart())
        // flowchart TD
        //     n1["1 retrying(retries: 3)"]
        //     n1 --> n2
        //     n2["2 StubConnection"]
    }

    #if Logging || canImport(os)
    func log(logger: Logger) throws -> (any Connection, any Connection) {
        let connection = transport.logging(to: .logger(logger))
        var stack = StandardStack(.app)
        stack.callLog = .line
        let standard = try stack.composed(log: .logger(logger))
        return (connection, standard)
    }

    func rules(logger: Logger) -> any Connection {
        var rules = LogRules(successShare: 0.01)
        rules.calls.clientError = .info
        rules.attempts.success = nil
        let connection = transport.logging(to: .logger(logger, rules: rules))
        return connection
    }
    #endif

    #if Metrics
    /// Stands for the one of swift-prometheus.
    struct PrometheusMetricsFactory {
        var defaultDurationHistogramBuckets: [Duration] = []
    }

    enum MetricsSystem {
        static func bootstrap(_ factory: PrometheusMetricsFactory) {}
    }

    func measure() throws -> (any Connection, any Connection) {
        let metrics = CallMetrics()
        let connection = transport.observing(metrics, as: .attempt).retrying().observing(metrics)
        let stack = try StandardStack(.app).composed(observer: metrics, attemptObserver: metrics)
        return (connection, stack)
    }

    func buckets() {
        var factory = PrometheusMetricsFactory()
        factory.defaultDurationHistogramBuckets = CallMetrics.durationBuckets
        MetricsSystem.bootstrap(factory)
    }
    #endif

    #if Tracing
    func layers() -> any Connection {
        let connection = transport.tracing(as: .attempt)
            .retrying()
            .followingRedirects()
            .tracing()
        return connection
    }

    func stack() throws -> any Connection {
        let connection = try StandardStack(.server).composed(adding: .tracing())
        return connection
    }

    func baggage() throws -> any Connection {
        let api = try Origin("https://api.example.com")
        let connection = transport.tracing(as: .attempt, TracePropagation(baggage: [api]))
        return connection
    }
    #endif

    #if Logging && Metrics && Tracing
    func all(logger: Logger) throws -> any Connection {
        let metrics = CallMetrics()
        var stack = StandardStack(.server)
        stack.callLog = .line
        let connection = try stack.composed(
            observer: metrics, attemptObserver: metrics, log: .logger(logger), adding: .tracing())
        return connection
    }
    #endif
}
