import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// The note for a test that has failed while the cassette sent its requests: nothing was recorded, and a failure of the
    /// connection needs a server; nil if no request was sent, or if ``CassetteMode/verify`` has reached the server.
    package var noteOfFailedTest: String? {
        let recordings = state.withLock { $0.recordings }
        guard !recordings.isEmpty else { return nil }
        let failed = recordings.first { $0.failureKind != nil }
        let failure = failed?.failureKind
        let path = file.relativePath
        let sent = "the requests of this test were sent to the server, to record them, and one was not answered"
        switch (mode, failure) {
        case (.verify, let failure?):
            let request = failed.map { SecretScanner(rules).masked(redactor.shown(url: $0.url)) } ?? ""
            return
                "The requests of this test were sent to the server, to compare the answers with the cassette \(path), and that for "
                + "\(request) was not answered (\(failure)). "
                + (failure == "deadlineExceeded"
                    ? "The server may be slower than when the test was recorded; look why. The recording stays as it is."
                    : "Run the test again while the server answers.")
        case (.append, let failure?), (.rewrite, let failure?):
            let state = missingRecording ?? "The cassette \(path) is being recorded"
            return "\(state). So \(sent) (\(failure)). \(consequence); run the test again while the server answers"
                + (isAbsent ? ", or restore the file if there was one." : ".")
                + (missingRecording == nil ? "" : " \(remedyForRename)")
        case (.append, nil), (.rewrite, nil):
            let path = path + (isAbsent ? ", which does not exist yet," : "")
            return
                "This test has failed, so its recordings for the cassette \(path) were not written. \(consequence); "
                + (opening != nil && owners.hasOwn ? "the new ones are " : "they are ")
                + "written when the test passes."
        case (.verify, nil), (.replay, _), (.live, _), (.once, _): return nil
        }
    }

    /// Whether there is no file; another test of the suite may have written one since it was looked for.
    private var isAbsent: Bool { stamp == nil && FileStamp(of: file) == nil }

    /// What becomes of the file if the test fails; one that tests share may have recordings of others by now.
    private var consequence: String {
        if isAbsent { return "No file was written" }
        guard opening != nil else { return "The file stays as it was" }
        return owners.hasOwn
            ? "The earlier recordings of this test stay as they were" : "Nothing of this test was written"
    }

    /// The words for a test of which there is no recording; nil if there is one.
    private var missingRecording: String? {
        if isAbsent { return "This test has no recording: the file \(file.relativePath) does not exist" }
        guard let test, owners.isNewTest || stamp == nil else { return nil }
        return "The cassette \(file.relativePath) has no recording of \(test)"
    }

    /// How to keep the recording of a test that was renamed, with the name of one that is similar.
    private var remedyForRename: String {
        guard stamp != nil, let test else { return SimilarCassette.remedy(for: file, isNamed: isNamed) }
        // A test that has run keeps its recording.
        let left = opened.testNames.subtracting(shared?.openedNames(of: file) ?? [])
        let similar = FormerName.similar(to: test, among: left)
        return "If the test was renamed, rename it in the file too"
            + (similar.map { ": \($0) is similar, and has not run so far." } ?? ".")
    }

    /// The notes for a test that has passed.
    package var notesOfPassedTest: [String] {
        [noteOfLeftRecordings, noteOfNoRequest, noteOfImportLosses].compactMap(\.self) + notesOfRequests
    }

    /// The notes for a test whose requests were answered, although they differ from the recorded ones in fields or in secrets.
    var notesOfRequests: [String] {
        // Each recorded request is read once for all of them.
        let requests = recordedRequests
        let fields = requests.mapValues(\.fields)
        return [
            noteOfCredentials(fields), noteOfEditedTokens(fields), noteOfGivenSecrets(requests), noteOfMediaTypes,
            noteOfConditions(fields),
        ].compactMap(\.self)
    }

    /// The note for a finished test: in ``CassetteMode/verify``, that the server and the recording have other failures which
    /// pass; in ``CassetteMode/rewrite``, that such failures were lost; nil for every other test.
    package var noteOfFinishedTest: String? { state.withLock(\.noteOfEnd) }

    /// The note for a test in ``CassetteMode/append`` that has left recordings of its own; nil if it left none.
    ///
    /// They stay in the file, and the next run that replays it fails with them.
    private var noteOfLeftRecordings: String? {
        guard mode == .append, rules.unused != .allow else { return nil }
        let left = unplayed.filter { ordinal in
            let isOwn = test.map { content.tests(of: ordinal).contains($0) } ?? true
            return isOwn && !mended.contains(ordinal)
        }
        guard !left.isEmpty else { return nil }
        let scanner = SecretScanner(rules)
        // A shared file that is written is sorted, so its lines are others then.
        let hasLines = opening == nil || state.withLock(\.recordings.isEmpty)
        let lines = left.map { ordinal in
            let request = (try? content.request(at: ordinal)).map(redactor.matchable)
            let line = (hasLines ? content.line(of: ordinal) : nil).map { "line \($0)  " } ?? ""
            return line + (request.map { scanner.masked("\($0.method) \($0.url)") } ?? "")
        }
        return
            "The cassette \(file.relativePath) keeps \(left.count) older recording\(left.count == 1 ? "" : "s") that this test "
            + "no longer plays, so its next replay fails:\(listed(lines))\n"
            + "fix: `\(rewriteCommand)` records the test anew without them; or delete them from the file"
    }

    /// The note for a test in ``CassetteMode/append`` that has passed without a request, so that no file was written; nil for every
    /// other test.
    ///
    /// A file that several tests share may be written by another one.
    private var noteOfNoRequest: String? {
        let hasSent = state.withLock { !$0.recordings.isEmpty || !$0.failures.isEmpty }
        guard mode == .append, stamp == nil, opening == nil, !hasSent else { return nil }
        return
            "The test has sent no request to the cassette \(file.relativePath), so the file was not written, and a run with `CI` "
            + "fails without it. A test that sends no request needs no cassette."
    }

    /// The note for a test that has failed although there is a recording of each request, which may be one of another test;
    /// nil if no other test has recorded the file, or a suite shares it.
    var noteOfForgottenSuite: String? {
        guard mode == .replay, let forgottenSuite, state.withLock(\.failures.isEmpty) else { return nil }
        return "\(forgottenSuite.fault(of: "The cassette \(file.relativePath)")), so an answer may be that of another "
            + "test.\nfix: \(forgottenSuite.remedy)"
    }

    /// The note for a test that has failed although there is a recording of each request: the first request that came before
    /// one that it was recorded behind, where one of them may change the other's answer; nil if there is none.
    ///
    /// A shared file is sorted, so it does not tell the order. In ``CassetteMode/verify``, the requests are known when the
    /// answers have been compared. A request that was not sent is left out where another note tells of it: `unsent`.
    func noteOfOrder(besides unsent: [UnsentRequest]) -> String? {
        let (answered, underWay, failures) = state.withLock { ($0.answered, $0.underWay, $0.failures) }
        guard rules.order == .any, opening == nil, failures.isEmpty, content.count <= Self.orderLimit,
            let requests = try? (0..<content.count).map({ redactor.matchable(try content.target(at: $0)) })
        else { return nil }
        func isSafe(_ ordinal: Int) -> Bool { ["GET", "HEAD", "OPTIONS", "QUERY"].contains(requests[ordinal].method) }
        // Requests that are under way at the same time have no order of their own.
        func overlap(_ one: Int, _ other: Int) -> Bool {
            underWay[one].flatMap { one in underWay[other].map(one.overlaps) } ?? false
        }
        var left =
            mode == .verify
            ? Set(answered.keys) : Set(requests.indices).subtracting(unsent.map(\.unsent))
        for (early, number) in answered.sorted(by: { $0.value < $1.value }) {
            left.remove(early)
            let late = left.filter { $0 < early && !(isSafe($0) && isSafe(early)) && !overlap($0, early) }.min()
            guard let late else { continue }
            let scanner = SecretScanner(rules)
            let names = [early, late].map { scanner.masked("\(requests[$0].method) \(requests[$0].url)") }
            let place = InteractionPlace.suffix(line: content.line(of: late))
            let fault =
                "Request \(number), \(names[0]), was recorded behind \(names[1])\(place), "
                + (answered[late] == nil ? "which was not sent, so " : "and now comes before it, so ")
            guard mode != .verify else {
                return fault
                    + "the answer to each of both may be another one than the recorded one. Send them in the recorded order, "
                    + "unless the change of the order is meant."
            }
            return fault
                + "its recorded answer may not fit. `CASSETTE=explain` shows the recording that answers each request."
        }
        return nil
    }

    /// The largest number of interactions whose order is judged.
    private static var orderLimit: Int { 1000 }
}
