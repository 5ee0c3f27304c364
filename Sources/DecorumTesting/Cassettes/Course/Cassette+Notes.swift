import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// The note for a test that has failed while the cassette sent its requests: a failure of the connection then needs a
    /// server, and no recording; nil if no request has failed.
    package var noteOfFailedTest: String? {
        let recordings = state.withLock { $0.recordings }
        guard recordings.contains(where: \.hasFailed) else { return nil }
        let purpose = mode == .verify ? "compare the answers with" : "record"
        return
            "The requests of this test were sent to the server, to \(purpose) the cassette \(file.relativePath), and one "
            + "failed. The file stays as it was; record while the server can be reached."
    }

    /// The note for a test that has recorded in ``CassetteMode/append``, and left recordings of its own; nil if it left none.
    ///
    /// They stay in the file, and the next run that replays it fails with them.
    package var noteOfLeftRecordings: String? {
        guard mode == .append, rules.unused != .allow, state.withLock({ !$0.recordings.isEmpty }) else { return nil }
        let left = unplayed.filter { ordinal in
            let isOwn = test.map { content.tests(of: ordinal).contains($0) } ?? true
            return isOwn && !mended.contains(ordinal)
        }
        guard !left.isEmpty else { return nil }
        let scanner = SecretScanner(rules)
        let lines = left.map { ordinal in
            let request = (try? content.request(at: ordinal)).map(redactor.matchable)
            let line = content.line(of: ordinal).map { "line \($0)  " } ?? ""
            return line + (request.map { scanner.masked("\($0.method) \($0.url)") } ?? "")
        }
        return
            "The cassette \(file.relativePath) keeps \(left.count) older recording\(left.count == 1 ? "" : "s") that this test "
            + "no longer plays, so its next replay fails:\(listed(lines))\n"
            + "fix: `\(rewriteCommand)` records the test anew without them; or delete them from the file"
    }
}
