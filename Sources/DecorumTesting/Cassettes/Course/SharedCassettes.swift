import Decorum
import Foundation
import Synchronization

/// The cassettes that the tests of a suite share, each test with its own run of the file.
///
/// Each test has its own recordings in the file, and interactions count as unused only if no test of the suite has played
/// them.
public final class SharedCassettes: Sendable {
    private struct Course {
        /// The content of the file when the first test opened it; nil if there was no file.
        let original: CassetteContent?
        var isWritten = false
        /// How often each test has opened the file.
        var openings: [String: Int] = [:]
        /// The number of cassettes that were opened and are not finished, such as those of failed tests.
        var openCount = 0
        /// The interactions that no finished cassette has played; nil until one is finished.
        var unplayed: Set<Int>?
        var unused: UnusedInteractionsError?
    }

    private let courses = Mutex<[String: Course]>([:])
    /// Whether only some tests of the suite run.
    let isPartial: Bool

    /// Creates a value for a suite of which no test has run yet.
    ///
    /// - Parameter isPartial: Whether only some tests of the suite run, so that unused interactions have no meaning; by
    ///   default, whether the arguments of the process hold `--filter` or `--skip`.
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

    /// The interactions that no test of the suite has played, for each file that was replayed.
    ///
    /// A file whose cassette was not finished is left out, because its test has failed.
    ///
    /// - Returns: One error for each file, in the order of their paths.
    public func unused() -> [UnusedInteractionsError] {
        guard !isPartial else { return [] }
        return courses.withLock { courses in
            courses.values.filter { $0.openCount == 0 }.compactMap(\.unused).sorted { $0.file < $1.file }
        }
    }

    /// Notes that a test opens a file.
    ///
    /// - Returns: The content that the file had when the first test opened it, or nil if there was no file; and the name
    ///   of the test, with a number if it opens the file again.
    func open(
        _ file: URL, holding content: CassetteContent?, for test: String?
    ) -> (original: CassetteContent?, test: String?) {
        courses.withLock { courses in
            var course = courses[file.path] ?? Course(original: content)
            course.openCount += 1
            let name = test.map { test in
                let number = course.openings[test, default: 0] + 1
                course.openings[test] = number
                return number == 1 ? test : "\(test) \(number)"
            }
            courses[file.path] = course
            return (course.original, name)
        }
    }

    /// Notes that a file could not be opened after all.
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

    /// Notes that a test is finished; the error describes the interactions that no test has played so far.
    func finish(
        _ file: URL, unplayed: Set<Int>?, describing error: (Set<Int>) throws -> UnusedInteractionsError
    ) rethrows {
        try courses.withLock { courses in
            guard var course = courses[file.path] else { return }
            course.openCount -= 1
            if let unplayed {
                let left = course.unplayed?.intersection(unplayed) ?? unplayed
                course.unplayed = left
                course.unused = left.isEmpty ? nil : try error(left)
            }
            courses[file.path] = course
        }
    }
}
