public import Decorum
import Foundation

/// A request was not sent, because it holds the placeholder of a secret that the cassette has played.
///
/// In ``CassetteMode/append``, a login that is recorded is played, and its token is a placeholder. A server would refuse
/// a request with that token, and its refusal would be recorded.
public struct PlaceholderSentError: Error, Hashable, Sendable {
    /// The method and the URL of the request, redacted.
    public let request: String
    /// The placeholder, which is no secret.
    public let placeholder: String
    /// The path of the cassette.
    public let file: String
    /// How to record the request.
    let advice: String
    /// The head of the request, redacted, for the report of a test.
    package let report: String
}

extension PlaceholderSentError: DescribableError {
    /// The request, the placeholder in it, and how to record it.
    public var description: String {
        """
        The request was not sent, because it holds a placeholder that the cassette has in place of a secret.
          \(request)
          with \(placeholder)
        The answer that the secret came from was played, so the server would refuse the placeholder.
        fix: \(advice)
        file: \(file)
        """
    }
}

extension Cassette {
    /// Throws if a request that is about to be sent holds a placeholder of the file.
    func checkPlaceholders(in request: RecordedRequest) throws(PlaceholderSentError) {
        guard content.count > 0, let placeholder = PlayedPlaceholders.first(in: request, of: self) else {
            return
        }
        let matchable = redactor.matchable(request)
        let scanner = SecretScanner(rules)
        let error = PlaceholderSentError(
            request: scanner.masked("\(matchable.method) \(matchable.url)"), placeholder: placeholder,
            file: file.relativePath,
            advice: adviceToRecord(or: "`\(rewriteCommand)` sends and records all requests of the test anew"),
            report: MissReport(scanner: scanner).text(unsent: matchable))
        keep(error)
        throw error
    }
}
