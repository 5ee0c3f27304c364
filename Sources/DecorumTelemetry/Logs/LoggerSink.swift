#if Logging
public import Decorum
public import Logging

extension LogSink {
    /// A sink that writes to a logger of swift-log: one entry for each call or attempt, with its level and metadata.
    ///
    /// ```swift
    /// let connection = transport.logging(to: .logger(logger))
    /// var stack = StandardStack(.app)
    /// stack.callLog = .line
    /// let standard = try stack.composed(log: .logger(logger))
    /// ```
    ///
    /// The message is the line of `logging(to:)`. The keys of the metadata are the names of
    /// OpenTelemetry's semantic conventions for spans of HTTP clients, where there is one:
    ///
    /// | key | value |
    /// |---|---|
    /// | `http.request.method`, `url.full`, `url.template`, `server.address`, `server.port` | what was asked; the template is the name of the route |
    /// | `http.response.status_code`, `error.type` | the outcome; the type is the name of the error, or the status from 400 on |
    /// | `http.request.resend_count` | of an attempt, the number of attempts before it, if there were any |
    /// | `http.request.body.size`, `http.response.body.size` | bytes, of the response in its codings if that is known; none for a request without a body, and without a response |
    /// | `network.protocol.version`, `network.peer.address` | what the transport tells |
    /// | `decorum.scope`, `decorum.call.id`, `decorum.outcome` | `call` or `attempt`; as 16 hexadecimal digits; `finished`, `failed`, `cancelled` or `abandoned` |
    /// | `decorum.duration`, `decorum.time_to_head` | seconds |
    /// | `decorum.source`, `decorum.cache.result` | where the response comes from; `hit`, or why the cache forwarded the request |
    /// | `decorum.attempts`, `decorum.retries`, `decorum.redirections` | of a call, how often something was sent |
    /// | `decorum.request`, `decorum.response` | lists of fields and lines of bodies, with `LogDetail/fields` or `LogDetail/bodies(upTo:)` |
    ///
    /// A value that is not known has no key. If the level of the logger is above all levels of the rules, the layer sends the
    /// request at once; an entry below the level has no text made.
    ///
    /// - Parameters:
    ///   - logger: The logger, whose own metadata stays.
    ///   - rules: The levels of the entries, and the share of successes to keep.
    /// - Returns: A sink.
    public static func logger(_ logger: Logger, rules: LogRules = LogRules()) -> LogSink {
        let highest = rules.highest.map(Logger.Level.init)
        return .structured(
            isEnabled: { highest.map { logger.logLevel <= $0 } ?? false },
            wants: { report in
                rules.level(of: report).map { logger.logLevel <= Logger.Level($0) } ?? false && rules.keeps(report)
            },
            { entry in
                guard let level = rules.level(of: entry.report) else { return }
                logger.log(
                    level: Logger.Level(level), "\(entry.line)", metadata: Logger.Metadata(entry), source: "Decorum")
            })
    }
}

extension Logger.Level {
    init(_ level: LogLevel) {
        self =
            switch level {
            case .trace: .trace
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            case .critical: .critical
            }
    }
}

extension Logger.Metadata {
    fileprivate init(_ entry: LogEntry) {
        let report = entry.report
        let isCall = report.scope == .call
        let attributes =
            report.conventionAttributes + [
                ("decorum.scope", report.scope.rawValue),
                ("decorum.duration", report.duration.map { $0 / .seconds(1) }),
                ("decorum.time_to_head", report.timeToHead.map { $0 / .seconds(1) }),
                ("decorum.attempts", isCall ? report.attemptCount : nil),
                ("decorum.retries", isCall ? report.retries : nil),
                ("decorum.redirections", isCall ? report.redirections.count : nil),
            ]
        self.init()
        for case (let name, let value?) in attributes {
            self[name] = (value as? String).map { .string($0.withoutControls) } ?? .stringConvertible(value)
        }
        if !entry.request.isEmpty { self["decorum.request"] = .array(entry.request.map { .string($0) }) }
        if !entry.response.isEmpty { self["decorum.response"] = .array(entry.response.map { .string($0) }) }
    }
}
#endif
