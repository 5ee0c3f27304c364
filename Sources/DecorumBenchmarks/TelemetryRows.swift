import Decorum
import DecorumTelemetry

#if Logging && Metrics && Tracing
import Logging
import Metrics
import Tracing
#endif

/// The costs of a report, and of logs, metrics and traces whose back ends do nothing.
enum TelemetryRows {
    static func rows() throws -> [Row] {
        let memory = MemoryConnection()
        let recent = RecentReports()
        let request = try Request.sample()
        return try [
            Row("telemetry/terminal", sending: request, through: composed(0, over: memory) { $0 }),
            Row("telemetry/report of a response", over: "telemetry/terminal", bounds: [.instructionsPerLayer: 1320]) {
                count in
                for _ in 0..<count { _ = try await memory.send(request).report }
            },
            row("a followed call", 20_060, memory.observing(recent)),
            row("a followed call and its attempt", 29_950, memory.observing(recent, as: .attempt).observing(recent)),
            Row(
                "telemetry/time of each layer", over: "stacks/standard", [.instructionsPerLayer: 40_720],
                sending: .sample("/v1/feed"), through: StackRows.standard(memory, measuresLayers: true)),
        ] + sinks(over: memory)
    }

    private static func row(_ name: String, _ limit: Double, _ connection: some Connection) throws -> Row {
        Row(
            "telemetry/\(name)", over: "telemetry/terminal", [.instructionsPerLayer: limit],
            sending: try .sample(), through: composed(0, over: connection) { $0 })
    }

    #if Logging && Metrics && Tracing
    private static func sinks(over memory: MemoryConnection) throws -> [Row] {
        let (metrics, tracer) = (CallMetrics(factory: NOOPMetricsHandler.instance), NoOpTracer())
        let logger = Logger(label: "benchmarks") { _ in DroppingLogHandler() }
        let silent = Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() }
        let attempts = memory.tracing(as: .attempt, tracer: tracer).observing(metrics, as: .attempt)
        return try [
            row("logs that are off", 1280, memory.logging(to: .logger(silent))),
            row("logs", 119_010, memory.logging(to: .logger(logger))),
            row("metrics", 12_830, memory.observing(metrics, as: .attempt)),
            row("traces", 1480, memory.tracing(as: .attempt, tracer: tracer).tracing(tracer: tracer)),
            row(
                "metrics and traces, logs that are off", 15_540,
                attempts.logging(to: .logger(silent)).tracing(tracer: tracer)),
            row("logs, metrics and traces", 133_300, attempts.logging(to: .logger(logger)).tracing(tracer: tracer)),
            row(
                "logs, metrics and traces of calls and attempts", 145_950,
                attempts.logging(to: .logger(logger)).observing(metrics).tracing(tracer: tracer)),
        ]
    }
    #else
    private static func sinks(over memory: MemoryConnection) throws -> [Row] { [] }
    #endif
}

#if Logging && Metrics && Tracing
/// A back end that is given each entry and drops it; that of swift-log which does nothing is never given one.
private struct DroppingLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {}
}
#endif
