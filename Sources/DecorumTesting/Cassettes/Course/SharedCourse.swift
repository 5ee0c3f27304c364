/// The course of one file that the tests of a suite share.
struct SharedCourse: Sendable {
    /// Makes the error for interactions of a content.
    typealias Description = @Sendable (_ ordinals: Set<Int>, _ content: CassetteContent) -> UnusedInteractionsError

    /// The content of the file when the first test opened it; nil if there was no file.
    let original: CassetteContent?
    private let stamp: FileStamp?
    /// Whether a test of the suite has written the file.
    var isWritten = false
    /// The number of cassettes that were opened and are not finished, such as those of failed tests.
    var openCount = 0
    /// How often each test has opened the file.
    private var openings: [String: Int] = [:]
    /// Whether a test has opened another version of the file, in which interactions have other places.
    private var hasChanged = false
    /// The content that finished tests have played, and the interactions in it that none has; nil until one is finished.
    private var left: (content: CassetteContent, unplayed: Set<Int>)?
    private var describe: Description?

    init(original: CassetteContent?, stamp: FileStamp?) {
        self.original = original
        self.stamp = stamp
    }

    /// Notes that a test opens a version of the file; returns nil if the test is unknown.
    mutating func open(at stamp: FileStamp?, for test: String?) -> TestOpening? {
        openCount += 1
        hasChanged = hasChanged || stamp != self.stamp
        guard let test else { return nil }
        openings[test, default: 0] += 1
        return TestOpening(test: test, number: openings[test, default: 1])
    }

    /// Notes that a test has finished the file.
    mutating func finish(_ content: CassetteContent, leaving unplayed: Set<Int>?, describing describe: Description?) {
        openCount -= 1
        self.describe = self.describe ?? describe
        guard let unplayed else { return }
        left = (content, left?.unplayed.intersection(unplayed) ?? unplayed)
    }

    /// The interactions that no test has played, or else those of cases in whose place others have recorded.
    ///
    /// Where a test has recorded, the next run tells which interactions none plays.
    var unused: UnusedInteractionsError? {
        guard openCount == 0, let describe else { return nil }
        if let original, let error = replacedCases(in: original, describe) { return error }
        guard let left, !left.unplayed.isEmpty, !isWritten, !hasChanged else { return nil }
        let error = describe(left.unplayed, left.content)
        let opened = openedNames
        let absent = left.unplayed.map { left.content.tests(of: $0) }.filter {
            !$0.isEmpty && opened.isDisjoint(with: $0)
        }
        guard !absent.isEmpty else { return error }
        return error.removing(testsThatDidNotRun: Set(absent.joined()), isAll: absent.count == left.unplayed.count)
    }

    /// The names of all openings.
    private var openedNames: Set<String> {
        Set(openings.flatMap { test, count in (1...count).map { TestOpening(test: test, number: $0).name } })
    }

    private func replacedCases(in original: CassetteContent, _ describe: Description) -> UnusedInteractionsError? {
        let replaced = TestCase.replaced(recorded: original.testNames, opened: openedNames)
        let names = replaced.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        let ordinals = (0..<original.count).filter { ordinal in
            let tests = original.tests(of: ordinal)
            return !tests.isEmpty && names.isSuperset(of: tests)
        }
        guard !ordinals.isEmpty else { return nil }
        return describe(Set(ordinals), original).advising(TestCase.remedy(for: replaced.keys))
    }
}
