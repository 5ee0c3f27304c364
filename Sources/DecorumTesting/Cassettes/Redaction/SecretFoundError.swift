public import Decorum
import Foundation

/// A cassette is not written, because it still holds a text that looks like a secret.
///
/// It names the places, and never the secrets.
public struct SecretFoundError: Error, Sendable, Hashable, DescribableError {
    /// A place that holds something like a secret.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The kind of secret that it looks like.
        public let kind: SecretKind

        /// The name of the environment variable that has this value; nil for all other kinds.
        public let variable: String?

        /// The path in JSON, such as `$.interactions[0].request.url`; nil in a file of another format.
        public let path: String?

        /// The line in the file, from 1.
        public let line: Int

        /// The kind and the place.
        public var description: String {
            let what = variable.map { "\(kind.name) \($0)" } ?? kind.name
            return path.map { "\(what) at \($0), line \(line)" } ?? "\(what) in line \(line)"
        }
    }

    private static let listLimit = 10

    /// The file that would have been written.
    public let file: String

    /// The places, in their order in the file.
    public let findings: [Finding]

    /// The file, the places and the remedy.
    public var description: String {
        let listed = findings.prefix(Self.listLimit).map { "  \($0)" }.joined(separator: "\n")
        let rest = findings.count - Self.listLimit
        return """
            The file \(file) is not written, because it would hold what looks like a secret:
            \(listed)\(rest > 0 ? "\n  and \(rest) more" : "")
            Redact the place by its name, or allow the value if it is made up.
            """
    }
}
