import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// The note for a test that has failed while the cassette sent its requests: nothing was recorded, and a failure of the
    /// connection needs a server; nil if no request was sent, or if ``CassetteMode/verify`` has reached the server.
    package var noteOfFailedTest: String? {
        let recordings = state.withLock { $0.recordings }
        guard !recordings.isEmpty else { return nil }
        let hasFailed = recordings.contains(where: \.hasFailed)
        let path = file.relativePath
        let sent = "The requests of this test were sent to the server, to"
        switch mode {
        case .verify:
            guard hasFailed else { return nil }
            return
                "\(sent) compare the answers with the cassette \(path), and one failed. Run it again while the server can "
                + "be reached."
        case .append, .rewrite:
            let consequence = stamp == nil ? "No file was written" : "The file stays as it was"
            guard !hasFailed else {
                return
                    "\(sent) record the cassette \(path), and one failed. \(consequence); record while the server can be "
                    + "reached."
            }
            return
                "This test has failed, so what it recorded for the cassette \(path) was not written. \(consequence); it is "
                + "recorded when the test passes."
        case .replay, .live, .once: return nil
        }
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
