public import Decorum
import Foundation

/// The answers of a server have changed since they were recorded.
public struct CassetteDriftError: Error, Hashable, Sendable {
    /// The changes in the answer to one request.
    public struct Drift: Hashable, Sendable {
        /// The method and the URL, redacted.
        public let request: String
        /// The changes, with JSON paths and without values, and the beginning of the redacted content where the status is of
        /// another class.
        public let changes: [String]
        /// The line of the recorded interaction in the file, counted from 1; nil if there is none, or if the format of the
        /// file has no lines.
        public let line: Int?
    }

    /// The path of the cassette.
    public let file: String
    /// The changes, in the order of the requests.
    public let drifts: [Drift]
    let advice: String
}

extension CassetteDriftError: DescribableError {
    /// Every change, by request.
    public var description: String {
        let list = drifts.map { drift in
            "\n  \(drift.request)" + (drift.line.map { "  (line \($0))" } ?? "")
                + drift.changes.map { "\n    \($0)" }.joined()
        }
        return "The server no longer answers as the cassette \(file) has it:\(list.joined())\n"
            + "fix: \(advice)"
    }
}
