import Foundation
import Synchronization

extension Cassette {
    /// The command that records the test anew.
    var rewriteCommand: String { Self.command(.rewrite, for: testName) }

    /// The command that runs a test in a mode, and no other test.
    static func command(_ mode: CassetteMode, for test: String?) -> String {
        let filter = test.map { TestCase($0)?.test ?? $0 }.map { " --filter '\(TestFilter.pattern(for: $0))'" } ?? ""
        return "CASSETTE=\(mode.rawValue) swift test\(filter)"
    }

    /// How to record a request that has no recording.
    ///
    /// `append` would keep the old recording of a request that has changed, which fails the next replay, and it does not send
    /// a request with a placeholder.
    func adviceForMiss(holdsPlaceholder: Bool, hasChanged: Bool) -> String {
        let rewriting = "`\(rewriteCommand)` records the test anew"
        return hasChanged || holdsPlaceholder
            ? rewriting : "`\(Self.command(.append, for: testName))` records it in addition; \(rewriting)"
    }

    /// How to fix a cassette: a mode that records it, or another file if this one is only replayed.
    func adviceToRecord(or modes: String) -> String {
        guard let format = opened.readOnlyFormat else { return modes }
        return "record on another file, since a cassette of \(format) is only replayed"
    }

    /// The advice to record: for a file of other tests, how they share it; for a test that has recorded nothing in a
    /// shared file, how to begin; and for a file that a test has named, which other test it belongs to, or how several share it.
    func adviceToRecordOrShare(or modes: String) -> String {
        if let forgottenSuite { return forgottenSuite.remedy }
        if let test, owners.isNewTest, opened.readOnlyFormat == nil {
            let advice = "run \(test) without `CI`, or with `CASSETTE=once`, to record it"
            guard let other = TestCase.others(of: test, in: opened.testNames).first else {
                return advice + "; if it was renamed, rename it in the file too"
            }
            return hasChangingArguments
                ? "\(advice); another case has recordings (\(other)), so \(TestCase.steadyText)" : advice
        }
        guard isNamedAlone, let testName else { return adviceToRecord(or: modes) }
        let trait = "put the trait `.cassettes()` on their suite, as in `@Suite(.cassettes()) struct FeedTests`"
        // What has changed at the server is told with its own remedy.
        if mode != .verify, opened.readOnlyFormat == nil, let other = nameOfOtherUser(besides: testName) {
            return
                "the test `\(other.test)` in \(other.source) uses this file too, and `CASSETTE=rewrite` would replace its recordings; "
                + "give the cassette of this test a name of its own; or, if both are to share the file, first \(trait), and then "
                + "record this test"
        }
        let name = file.deletingPathExtension().lastPathComponent
        return adviceToRecord(or: modes)
            + "; if several tests share the cassette \(name.debugDescription), first \(trait): without it, each test takes the "
            + "file for its own"
    }

    /// The other test that uses the file, and the name of its source, which is read at the first miss alone; nil if there is none.
    private func nameOfOtherUser(besides test: String) -> (test: String, source: String)? {
        otherUser.withLock { other in
            let found = other ?? CassetteUser.Other(of: file, besides: test)
            other = found
            return found.names
        }
    }
}
