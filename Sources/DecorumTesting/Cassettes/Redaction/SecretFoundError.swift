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

        /// The place in the URL of a request; nil if it is elsewhere, or the request is unknown.
        var urlPlace: SecretURLPlace?

        /// The kind and the place.
        public var description: String {
            let what = variable.map { "\(kind.name) \($0)" } ?? kind.name
            if let urlPlace { return "\(what) in \(urlPlace)" }
            return path.map { "\(what) at \($0), line \(line)" } ?? "\(what) in line \(line)"
        }
    }

    private static let listLimit = 10

    /// The file that would have been written.
    public let file: String

    /// The places, in their order in the file.
    public let findings: [Finding]

    /// The method and the URL of the request, redacted, whose content or whose answer is not searched; nil if unknown.
    var exchange: String?

    /// The file, the places and the remedy.
    public var description: String {
        let secrets = findings.filter { $0.kind != .unsearchedContent }
        return secrets.isEmpty ? unsearched : found(secrets)
    }

    private func found(_ secrets: [Finding]) -> String {
        let listed = secrets.prefix(Self.listLimit).map { "  \($0)" }.joined(separator: "\n")
        let rest = secrets.count - Self.listLimit
        return """
            The file \(file) is not written, because it would hold what looks like a secret:
            \(listed)\(rest > 0 ? "\n  and \(rest) more" : "")
            fix: \(Self.remedy(for: secrets)); if it is made up, `rules.allowedSecrets.append("the value")` leaves it
            """
    }

    /// A rule of content does not fit a URL, and a request may not be meant to send the secret at all.
    private static func remedy(for secrets: [Finding]) -> String {
        let urls = secrets.compactMap(\.urlPlace)
        let item = urls.compactMap(\.item).first
        var rules = item.map { ["`rules.redaction.queryItems.insert(\($0.debugDescription))`"] } ?? []
        if urls.count < secrets.count { rules.append("`rules.redaction.jsonPaths.insert(\"user.pin\")`") }
        let place = rules.isEmpty ? "" : "by the name of its place, as in \(rules.joined(separator: " and ")), or "
        let question = urls.isEmpty ? "" : "if the request is not meant to send it, remove it there; else "
        return "\(question)replace it \(place)in `rules.beforeRecording`"
    }

    /// Such content is no secret, but might hold one.
    private var unsearched: String {
        """
        The file \(file) is not written, because \(exchange.map { "the content of \($0)" } ?? "some content") is an \
        archive or has a binary format, in which no secret would be found.
        fix: if it holds none, `rules.allowedSecrets.append(.kind(.unsearchedContent))` records it as it is; or let \
        `rules.beforeRecording` replace it
        """
    }
}
