import Decorum
import Foundation
import Synchronization

/// The cassettes that the tests of a suite share, each test with its own run of the file.
///
/// Each test has its own recordings in the file, and interactions count as unused only if no test of the suite has played
/// them.
package final class SharedCassettes: Sendable {
    private let runs = Mutex<[String: SharedRun]>([:])
    /// The version of each file that was read last, and its content.
    private let contents = Mutex<[String: (stamp: FileStamp, content: CassetteContent)]>([:])
    /// The notes that were told, and the places and the rules of replaced values that were reported.
    private let reported = Mutex<Set<String>>([])
    let isPartial: Bool

    /// Creates a value for a suite of which no test has run yet.
    ///
    /// If `isPartial`, only some tests of the suite run, and only unused interactions of these tests have a meaning.
    package init(isPartial: Bool = SharedCassettes.isFiltered) {
        self.isPartial = isPartial
    }

    /// Whether the arguments of the process leave out tests: `--filter` or `--skip`, or names of tests for XCTest.
    package static var isFiltered: Bool { isFiltered(CommandLine.arguments) }

    /// Whether arguments leave out tests: `swift test` hands a filter to Swift Testing as it is, and to XCTest as the names of the tests that it selects.
    static func isFiltered(_ arguments: [String]) -> Bool {
        arguments.indices.contains { index in
            switch arguments[index] {
            case "--filter", "--skip": return true
            case "-XCTest", "--specifiers": return arguments[(index + 1)...].first.map { $0 != "All" } ?? false
            default:
                let isOfOption = index > 0 && arguments[index - 1].hasPrefix("-")
                return index > 0 && !isOfOption && arguments[index].split(separator: ",").allSatisfy(namesTest)
            }
        }
    }

    /// Whether a text is the name of a test of XCTest, as in `FeedTests.FeedCase/testFeed`.
    private static func namesTest(_ text: Substring) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts[0].split(separator: ".").count == 2, !text.hasSuffix(".xctest")
        else { return false }
        return parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLetter || $0.isNumber || "._".contains($0) } }
    }

    /// The interactions of each replayed file that no test of the suite has played; in a partial run, only the ones of tests
    /// that have run.
    ///
    /// A file on which a test has recorded is left out, and so is one whose cassette was not finished, because its test has
    /// failed. There is one error for each file, in the order of their paths.
    package func unused() -> [UnusedInteractionsError] {
        runs.withLock { runs in
            runs.values.compactMap { $0.unused(isPartial: isPartial) }.sorted { $0.file < $1.file }
        }
    }

    /// Notes that a test opens a version of a file; returns the content that the file had when the first test opened it, and
    /// the opening of the test, if it is known.
    func open(
        _ file: URL, at stamp: FileStamp?, holding content: CassetteContent?, for test: String?
    ) -> (original: CassetteContent?, opening: TestOpening?) {
        runs.withLock { runs in
            var run = runs[file.path] ?? SharedRun(original: content, stamp: stamp)
            let opening = run.open(at: stamp, for: test)
            runs[file.path] = run
            return (run.original, opening)
        }
    }

    /// The content of a version of a file, which is read again only if the file has changed.
    ///
    /// A file of another tool depends on the rules, and is read each time.
    func content(
        of file: URL, at stamp: FileStamp, reading read: () throws -> CassetteContent
    ) rethrows -> CassetteContent {
        if let known = contents.withLock({ $0[file.path] }), known.stamp == stamp { return known.content }
        let content = try read()
        if content.reader != nil { contents.withLock { $0[file.path] = (stamp, content) } }
        return content
    }

    /// Notes that a test has finished a file that it does not share, or could not open it.
    func close(_ file: URL) { runs.withLock { $0[file.path]?.openCount -= 1 } }

    func write(_ file: URL) -> Bool {
        runs.withLock { runs in
            defer { runs[file.path]?.isWritten = true }
            return runs[file.path]?.isWritten ?? false
        }
    }

    /// The replaced values for which no test of the suite has reported the rule that leaves them, in whatever file.
    func unreported(_ replacements: [SecretReplacement]) -> [SecretReplacement] {
        replacements.filter { isFirst("\($0.place) \($0.rule)") }
    }

    /// Whether no test of the suite has told a kind of note before.
    func isFirst(_ note: String) -> Bool { reported.withLock { $0.insert(note).inserted } }

    /// Notes that a test has finished a file, with the interactions that it has left; nil if it has recorded.
    ///
    /// `describe` makes the error for interactions of a content; nil if the rules of the test allow them.
    func finish(
        _ file: URL, playing content: CassetteContent, leaving unplayed: Set<Int>?,
        describing describe: UnusedDescription?
    ) {
        runs.withLock { $0[file.path]?.finish(content, leaving: unplayed, describing: describe) }
    }
}

typealias UnusedDescription =
    @Sendable (_ ordinals: Set<Int>, _ content: CassetteContent) -> UnusedInteractionsError

private struct SharedRun: Sendable {
    let original: CassetteContent?
    private let stamp: FileStamp?
    var isWritten = false
    /// The number of cassettes that were opened and are not finished, such as the cassettes of failed tests.
    var openCount = 0
    private var openings: [String: Int] = [:]
    /// Whether a test has opened another version of the file, in which interactions have other places.
    private var hasChanged = false
    /// The content that finished tests have played, and the interactions in it that none of them has played.
    private var left: (content: CassetteContent, unplayed: Set<Int>)?
    private var describe: UnusedDescription?

    init(original: CassetteContent?, stamp: FileStamp?) {
        self.original = original
        self.stamp = stamp
    }

    mutating func open(at stamp: FileStamp?, for test: String?) -> TestOpening? {
        openCount += 1
        hasChanged = hasChanged || stamp != self.stamp
        guard let test else { return nil }
        openings[test, default: 0] += 1
        return TestOpening(test: test, number: openings[test, default: 1])
    }

    mutating func finish(
        _ content: CassetteContent, leaving unplayed: Set<Int>?, describing describe: UnusedDescription?
    ) {
        openCount -= 1
        self.describe = self.describe ?? describe
        guard let unplayed else { return }
        left = (content, left?.unplayed.intersection(unplayed) ?? unplayed)
    }

    /// The interactions that no test has played; in a partial run, only the ones of tests that did run.
    func unused(isPartial: Bool) -> UnusedInteractionsError? {
        guard openCount == 0, !isWritten, !hasChanged, let describe, let (content, unplayed) = left, !unplayed.isEmpty
        else { return nil }
        guard isPartial else { return describe(unplayed, content) }
        // A file in which an interaction belongs to no test lends all of them to each test.
        guard !(0..<content.count).contains(where: { content.tests(of: $0).isEmpty }) else { return nil }
        let opened = Set(
            openings.flatMap { test, count in (1...count).map { TestOpening(test: test, number: $0).name } })
        let ofTestsThatRan = unplayed.filter { opened.isSuperset(of: content.tests(of: $0)) }
        return ofTestsThatRan.isEmpty ? nil : describe(ofTestsThatRan, content)
    }
}
