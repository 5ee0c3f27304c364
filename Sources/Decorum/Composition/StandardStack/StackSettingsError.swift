import Foundation

/// Settings of a ``StandardStack`` are unknown, of another type, or contradict each other.
public struct StackSettingsError: DescribableError, Sendable, Hashable {
    /// One setting that cannot be used.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The keys that lead to the setting, joined by periods, as in `retries.maximum`.
        public let path: String
        /// The reason, as a text that continues the path.
        public let reason: String
        /// The paths of further settings that the reason is about.
        let others: [String]

        init(_ path: String, _ reason: String, others: [String] = []) {
            self.path = path
            self.reason = reason
            self.others = others
        }

        /// The path and the reason.
        public var description: String { "`\(path)` \(reason)" }
    }

    /// The problems, in the order in which they were found.
    public let problems: [Problem]

    init(_ problems: [Problem]) {
        self.problems = problems
    }

    /// One sentence for each problem.
    public var description: String {
        problems.map { "\($0)." }.joined(separator: " ")
    }
}
