import Decorum
import Foundation

extension Cassette {
    /// The method and the URL of a recorded request, redacted, and its line, as a note shows them.
    func shownRequest(at ordinal: Int) -> String {
        let target = (try? content.target(at: ordinal)).map(redactor.matchable)
        let words = target.map { SecretScanner(rules).masked("\($0.method) \($0.url)") } ?? "a request"
        return words + InteractionPlace.suffix(line: content.line(of: ordinal))
    }
}
