public import Decorum
import Foundation

/// The answers of a server, or the requests of a test, have changed since they were recorded.
public struct CassetteDriftError: Error, Hashable, Sendable {
    /// The changes in one request, or in the answer to it.
    public struct Drift: Hashable, Sendable, Codable {
        /// The method and the URL, redacted.
        public let request: String
        /// The changes in the answer, with JSON paths and without values, and the beginning of the redacted content of an
        /// error; for a request without a recording, the rules in which it differs from the nearest one.
        public let changes: [String]
        /// The line of the recorded interaction in the file, counted from 1; nil for a request without a recording, and for a
        /// file whose format has no lines.
        public let line: Int?
    }

    /// The path of the cassette.
    public let file: String
    /// The changes, in the order of the requests.
    public let drifts: [Drift]
    let command: String
}

extension CassetteDriftError: DescribableError {
    /// Every change, by request, and the command that records the test anew.
    public var description: String {
        let list = drifts.map { drift in
            "\n  \(drift.request)\(InteractionPlace.suffix(line: drift.line))"
                + drift.changes.map { "\n    \($0)" }.joined()
        }
        return "The requests or the answers differ from the cassette \(file):\(list.joined())\n"
            + "fix: mend the server or the code; if the change is meant, \(command)"
    }
}
