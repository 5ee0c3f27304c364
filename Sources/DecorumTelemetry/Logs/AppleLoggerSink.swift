#if canImport(os)
public import Decorum
public import os

extension LogSink {
    /// A sink that writes to a logger of Apple's systems: one entry for each call or attempt, with its level.
    ///
    /// ```swift
    /// let connection = transport.logging(to: .logger(logger))
    /// var stack = StandardStack(.app)
    /// stack.callLog = .line
    /// let standard = try stack.composed(log: .logger(logger))
    /// ```
    ///
    /// The message is the text of `logging(to:)`, shown as it is, since its secrets are
    /// redacted before. ``LogLevel/trace`` and ``LogLevel/debug`` become `debug`, ``LogLevel/notice`` the default,
    /// ``LogLevel/warning`` and ``LogLevel/error`` become `error`, and ``LogLevel/critical`` a `fault`. The system does not say
    /// which levels it keeps, so leave out what you do not need with nil as the level.
    ///
    /// - Parameters:
    ///   - logger: The logger.
    ///   - rules: The levels of the entries, and the share of successes to keep.
    /// - Returns: A sink.
    public static func logger(_ logger: os.Logger, rules: LogRules = LogRules()) -> LogSink {
        let isEnabled = rules.highest != nil
        return .structured(
            isEnabled: { isEnabled },
            wants: { rules.level(of: $0) != nil && rules.keeps($0) },
            { entry in
                guard let level = rules.level(of: entry.report) else { return }
                logger.log(level: OSLogType(level), "\(entry.text, privacy: .public)")
            })
    }
}

extension OSLogType {
    fileprivate init(_ level: LogLevel) {
        self =
            switch level {
            case .trace, .debug: .debug
            case .info: .info
            case .notice: .default
            case .warning, .error: .error
            case .critical: .fault
            }
    }
}
#endif
