public import Decorum

/// The level of an entry of a log, from the least to the most severe.
///
/// The names are those of swift-log. Apple's systems have fewer: there, a warning is an error.
public enum LogLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    /// For following the work step by step.
    case trace
    /// For finding a mistake.
    case debug
    /// For what usually happens.
    case info
    /// For what deserves a look.
    case notice
    /// For what did not work, and may by itself later.
    case warning
    /// For what did not work.
    case error
    /// For what must be seen at once.
    case critical

    /// Whether a level is less severe than another one.
    public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rank < other.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Which calls and attempts a log has, and with which levels.
///
/// ```swift
/// var rules = LogRules(successShare: 0.01)
/// rules.calls.clientError = .info
/// rules.attempts.success = nil
/// let connection = transport.logging(to: .logger(logger, rules: rules))
/// ```
public struct LogRules: Sendable {
    /// The levels by outcome; nil for no entry.
    ///
    /// The status counts before the outcome: a 503 is a server error whether a layer further in has refused it, its body was
    /// dropped, or was read to its end. Only a cancellation counts before the status.
    public struct Levels: Sendable, Hashable {
        /// The response arrived with its whole body, and its status is none of 4xx and 5xx.
        public var success: LogLevel?
        /// The status is one of 4xx.
        public var clientError: LogLevel?
        /// The status is one of 5xx.
        public var serverError: LogLevel?
        /// No response arrived, or its body failed.
        public var failure: LogLevel?
        /// The task was cancelled.
        public var cancelled: LogLevel?
        /// The body was dropped before its end.
        public var abandoned: LogLevel?

        /// The levels of calls, whose outcome the app gets.
        public static let calls = Levels(
            success: .info, clientError: .notice, serverError: .error, failure: .error, cancelled: .debug,
            abandoned: .info)

        /// The levels of attempts, after which a layer may still send the request again.
        public static let attempts = Levels(
            success: .debug, clientError: .info, serverError: .warning, failure: .warning, cancelled: .debug,
            abandoned: .debug)
    }

    /// The levels of calls.
    public var calls: Levels
    /// The levels of attempts.
    public var attempts: Levels
    /// The share of the entries of successes to keep, from 0 to 1; those of all other outcomes are kept.
    ///
    /// The entries of successes that belong to one call are kept or dropped together if the call has an identifier, which an
    /// observer or a `CallContext` gives it.
    public var successShare: Double

    /// Creates rules.
    ///
    /// - Parameters:
    ///   - calls: The levels of calls.
    ///   - attempts: The levels of attempts.
    ///   - successShare: The share of the entries of successes to keep, from 0 to 1.
    public init(calls: Levels = .calls, attempts: Levels = .attempts, successShare: Double = 1) {
        (self.calls, self.attempts, self.successShare) = (calls, attempts, successShare)
    }

    /// Decides about the level of an entry.
    ///
    /// - Parameter report: The report of a call or an attempt.
    /// - Returns: The level; nil for no entry.
    public func level(of report: CallReport) -> LogLevel? {
        let levels = report.scope == .call ? calls : attempts
        return switch (report.outcome, report.statusCode ?? 0) {
        case (.cancelled, _): levels.cancelled
        case (_, 500...): levels.serverError
        case (_, 400...): levels.clientError
        case (.finished, _): levels.success
        case (.failed, _): levels.failure
        case (.abandoned, _): levels.abandoned
        }
    }

    /// The most severe level of all entries; nil without any entry.
    var highest: LogLevel? {
        [calls, attempts].flatMap {
            [$0.success, $0.clientError, $0.serverError, $0.failure, $0.cancelled, $0.abandoned].compactMap(\.self)
        }.max()
    }

    /// Whether the report is in the share to keep.
    func keeps(_ report: CallReport) -> Bool {
        guard successShare < 1, report.outcome == .finished, !report.isError else { return true }
        // All entries of a call draw the same number.
        return SeededGenerator(seed: report.callID ?? .random(in: 0...(.max))).uniform() < successShare
    }
}
