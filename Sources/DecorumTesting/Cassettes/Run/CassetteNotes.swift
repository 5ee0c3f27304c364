import Decorum
import Foundation
import Synchronization

/// The notes of a test: facts about its run that fail nothing by themselves.
extension Cassette {
    package var notesOfPassedTest: [String] {
        [noteOfLeftRecordings, mode == .append ? noteOfNoRequest : nil, noteOfImportLosses, noteOfCredentials]
            .compactMap(\.self)
    }

    var notesOfFailedTest: [String] {
        [noteOfFailedTest, noteOfNoRequest, noteOfImportLosses, noteOfCredentials, noteOfUnsentRequests].compactMap(
            \.self)
    }

    /// The note that a finished test has got while its answers were compared or written; nil if it has none.
    package var noteOfFinishedTest: String? { state.withLock(\.noteOfEnd) }

    /// The note for a test that has failed while the cassette sent its requests: nothing was recorded, and a failure of the
    /// connection needs a server.
    ///
    /// A test in ``CassetteMode/verify`` has the note only if the server has not answered.
    package var noteOfFailedTest: String? {
        let recordings = state.withLock { $0.recordings }
        let failure = recordings.lazy.compactMap(\.failureKind).first
        guard !recordings.isEmpty, [.append, .rewrite].contains(mode) || mode == .verify && failure != nil else {
            return nil
        }
        let purpose = mode == .verify ? "compare the answers with" : "record them in"
        let absence =
            stamp == nil && FileStamp(of: file) == nil
            ? ", which does not exist" : owners.isNewTest ? ", which has no recording of this test" : ""
        let outcome = failure.map { "; one was not answered (\($0))" } ?? ""
        return "The requests of this test were sent to \(purpose) \(file.relativePath)\(absence)\(outcome)."
            + (mode == .verify ? "" : " Nothing was written, since the test has failed.")
    }

    /// The note for a test that has sent no request to its cassette, whose client may have a transport of its own.
    private var noteOfNoRequest: String? {
        let isSilent = state.withLock { $0.requestCount == 0 && $0.recordings.isEmpty && $0.failures.isEmpty }
        let recorded = (0..<content.count).count(where: owners.areOf)
        let isUnexpected =
            mode == .replay
            ? recorded > 0 && rules.unused != .allow && (opening == nil || owners.hasOwn)
            : mode == .append && stamp == nil && opening == nil
        guard isSilent, isUnexpected else { return nil }
        return "The test has sent no request to its cassette \(file.relativePath), which has \(recorded) recorded."
    }

    /// The note for a test in ``CassetteMode/append`` that has left recordings of its own.
    ///
    /// They stay in the file, and the next run that replays it fails with them.
    private var noteOfLeftRecordings: String? {
        guard mode == .append, rules.unused != .allow else { return nil }
        let left = unplayed.filter { ordinal in
            (test.map { content.tests(of: ordinal).contains($0) } ?? true) && !mended.contains(ordinal)
        }
        guard !left.isEmpty else { return nil }
        return
            "This test no longer plays \(left.count) of its recordings in \(file.relativePath), so its next replay fails:"
            + "\(listed(left.map { shownTarget(at: $0, of: content) }))\nfix: record it anew with `\(rewriteCommand)`"
    }

    /// The note for a replayed file of another tool, of which its reader had to guess, change or leave out parts.
    ///
    /// The tests of a suite tell it once for a file, and rules that do not report losses accept them.
    private var noteOfImportLosses: String? {
        let losses = opened.losses
        guard mode == .replay, rules.reportsLosses, !losses.isEmpty,
            shared?.isFirst("losses of \(file.path)") ?? true
        else { return nil }
        let scanner = SecretScanner(rules)
        return
            "\(losses.count == 1 ? "1 part" : "\(losses.count) parts") of the foreign cassette \(file.relativePath) had to be "
            + "guessed, changed or left out:"
            + listed(losses.map { scanner.masked("\($0)").withoutControls }, upTo: 3)
            + "\nfix: record it anew on another file, or accept them with `rules.reportsLosses = false`"
    }

    /// The note for a replayed test whose requests have lost their credentials; they match, since secrets do not count.
    private var noteOfCredentials: String? {
        guard mode == .replay else { return nil }
        let answered = state.withLock(\.answered)
        let lost = answered.filter { ordinal, sent in
            !sent.isAuthorized && (try? content.request(at: ordinal))?.fields.contains(.authorization) == true
        }
        guard !lost.isEmpty else { return nil }
        let lines = lost.sorted { $0.value.number < $1.value.number }.map { shownRequest(at: $0.key) }
        let count = lines.count == 1 ? "1 request lacks" : "\(lines.count) requests lack"
        return "\(count) the `Authorization` of the recording in \(file.relativePath), which matches all the same:"
            + listed(lines, upTo: 3)
            + "\nfix: send the credentials, or " + adviceToRecord(or: "record the test anew with `\(rewriteCommand)`")
    }

    /// The note for a replayed test that has failed without a miss, and before it sent all recorded requests.
    ///
    /// A client sends some by itself: it follows a redirection, or repeats a request.
    private var noteOfUnsentRequests: String? {
        let left = unplayed.filter { !owners.foreign.contains($0) }
        guard mode == .replay, !left.isEmpty, state.withLock({ $0.failures.isEmpty && $0.requestCount > 0 }) else {
            return nil
        }
        return "The failed test has not sent these recorded requests of \(file.relativePath):"
            + "\(listed(left.map(shownRequest), upTo: 3))\nfix: if the client sends them by itself, put the layer that follows "
            + "redirections, or repeats requests, back into the stack"
    }

    /// The method, the URL and the line of a recorded request, as a note shows them.
    private func shownRequest(at ordinal: Int) -> String {
        shownTarget(at: ordinal, of: content) + InteractionPlace.suffix(line: content.line(of: ordinal))
    }
}
