import Decorum
import Foundation
import Synchronization

/// The cassettes that the tests of a suite share, each test with its own run of the file.
///
/// Each test has its own recordings in the file, and interactions count as unused only if no test of the suite has played
/// them.
public final class SharedCassettes: Sendable {
    private let courses = Mutex<[String: SharedCourse]>([:])
    /// The version of each file that was read last, and its content.
    private let contents = Mutex<[String: (stamp: FileStamp, content: CassetteContent)]>([:])
    /// The notes that were told, and the places and the rules of replaced values that were reported.
    private let reported = Mutex<Set<String>>([])
    /// Whether only some tests of the suite run.
    let isPartial: Bool

    /// Creates a value for a suite of which no test has run yet.
    ///
    /// - Parameter isPartial: Whether only some tests of the suite run, so that only unused interactions of these tests have
    ///   a meaning; by default, whether the arguments of the process hold `--filter` or `--skip`.
    public init(isPartial: Bool = SharedCassettes.isFiltered) {
        self.isPartial = isPartial
    }

    /// Whether the arguments of the process leave out tests: `--filter` or `--skip`, or names of tests for XCTest.
    public static var isFiltered: Bool { isFiltered(CommandLine.arguments) }

    /// Whether arguments leave out tests.
    ///
    /// `swift test` hands a filter to Swift Testing as it is, and to XCTest as the names of the tests that it selects.
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
        else {
            return false
        }
        return parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLetter || $0.isNumber || "._".contains($0) } }
    }

    /// The interactions that no test of the suite has played, for each file that was replayed; and in a file that was recorded,
    /// those of tests that did not run, and those of cases of a parameterised test in whose place others have recorded.
    ///
    /// Where only some tests run, interactions of these tests alone are judged, in files that were replayed. A file whose
    /// cassette was not finished is left out, because its test has failed.
    ///
    /// - Returns: One error for each file, in the order of their paths.
    public func unused() -> [UnusedInteractionsError] {
        courses.withLock { courses in
            courses.values.compactMap { $0.unused(isPartial: isPartial) }.sorted { $0.file < $1.file }
        }
    }

    /// The warnings for recordings of tests that were renamed, where only some tests run; where all do, ``unused()`` has them.
    package func notesOfFormerNames() -> [String] {
        guard isPartial else { return [] }
        return courses.withLock { courses in courses.values.flatMap(\.notesOfFormerNames) }.sorted()
    }

    /// Notes that a test which had no recordings in a file has recorded.
    func add(_ test: NewTest, to file: URL) {
        courses.withLock { $0[file.path]?.newTests.append(test) }
    }

    /// Notes that a test opens a version of a file.
    ///
    /// - Returns: The content that the file had when the first test opened it, or nil if there was no file; and the opening
    ///   of the test, if it is known.
    func open(
        _ file: URL, at stamp: FileStamp?, holding content: CassetteContent?, for test: String?
    ) -> (original: CassetteContent?, opening: TestOpening?) {
        courses.withLock { courses in
            var course = courses[file.path] ?? SharedCourse(original: content, stamp: stamp)
            let opening = course.open(at: stamp, for: test)
            courses[file.path] = course
            return (course.original, opening)
        }
    }

    /// The names under which tests have opened a file until now.
    func openedNames(of file: URL) -> Set<String> {
        courses.withLock { $0[file.path]?.openedNames ?? [] }
    }

    /// The content of a version of a file, which is read again only if the file has changed.
    ///
    /// A file of another tool depends on the rules, and is read each time.
    func content(
        of file: URL, at stamp: FileStamp, reading read: () throws -> CassetteContent
    ) rethrows -> CassetteContent {
        if let known = contents.withLock({ $0[file.path] }), known.stamp == stamp { return known.content }
        let content = try read()
        if case .file = content { contents.withLock { $0[file.path] = (stamp, content) } }
        return content
    }

    /// Notes that a test has finished a file that it does not share, or could not open it.
    func close(_ file: URL) {
        courses.withLock { $0[file.path]?.openCount -= 1 }
    }

    /// Notes that a file is written; returns whether another test has written it before.
    func write(_ file: URL) -> Bool {
        courses.withLock { courses in
            defer { courses[file.path]?.isWritten = true }
            return courses[file.path]?.isWritten ?? false
        }
    }

    /// The replaced values for which no test of the suite has reported the rule that leaves them, in whatever file.
    func unreported(_ replacements: [SecretReplacement]) -> [SecretReplacement] {
        replacements.filter { isFirst("\($0.place) \($0.rule)") }
    }

    /// Whether no test of the suite has told a kind of note before.
    func isFirst(_ note: String) -> Bool { reported.withLock { $0.insert(note).inserted } }

    /// Notes that a test has finished a file.
    ///
    /// `unplayed` are the interactions that it has left; nil if it has recorded. `describe` makes the error for
    /// interactions of a content; nil if the rules of the test allow them. `read` gives the content of the file as it is.
    func finish(
        _ file: URL, playing content: CassetteContent, leaving unplayed: Set<Int>?,
        describing describe: SharedCourse.Description?, reading read: @escaping SharedCourse.Reading
    ) {
        courses.withLock { $0[file.path]?.finish(content, leaving: unplayed, describing: describe, reading: read) }
    }
}
