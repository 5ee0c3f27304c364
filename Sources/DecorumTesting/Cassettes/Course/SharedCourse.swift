/// The course of one file that the tests of a suite share.
struct SharedCourse: Sendable {
    /// Makes the error for interactions of a content.
    typealias Description = @Sendable (_ ordinals: Set<Int>, _ content: CassetteContent) -> UnusedInteractionsError

    /// Reads the file as it is now; nil if it cannot be read.
    typealias Reading = @Sendable () -> CassetteContent?

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
    /// The tests that have recorded, and had no recordings in the file before.
    var newTests: [NewTest] = []
    private var describe: Description?
    private var read: Reading?

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

    /// Notes that a test has finished the file; `read` gives the content that the file has then.
    mutating func finish(
        _ content: CassetteContent, leaving unplayed: Set<Int>?, describing describe: Description?,
        reading read: @escaping Reading
    ) {
        openCount -= 1
        self.describe = self.describe ?? describe
        self.read = read
        guard let unplayed else { return }
        left = (content, left?.unplayed.intersection(unplayed) ?? unplayed)
    }

    /// The interactions that no test has played, or else those of cases in whose place others have recorded.
    ///
    /// Where a test has recorded, only those of tests that did not run: the next run tells which others none plays. In a
    /// partial run, only those of tests that did run, with all of their cases.
    func unused(isPartial: Bool) -> UnusedInteractionsError? {
        guard openCount == 0, let describe else { return nil }
        // A filter selects all cases of a test.
        if let error = replacedCases(describe) { return error }
        guard !isPartial else { return ofTestsThatRan(describe) }
        guard !isNewVersion else { return ofAbsentTests(describe) }
        guard let left, !left.unplayed.isEmpty else { return nil }
        let error = describe(left.unplayed, left.content)
        let absent = Self.absent(left.unplayed, in: left.content, except: openedNames)
        guard !absent.isEmpty else { return error }
        return error.removing(
            testsThatDidNotRun: Set(absent.flatMap(left.content.tests)), isAll: absent.count == left.unplayed.count,
            hasNewNames: false)
    }

    /// The warnings for recordings of tests that did not run, in whose place new tests may have recorded.
    var notesOfFormerNames: [String] {
        guard !newTests.isEmpty, let content = read?() else { return [] }
        let file = (0..<content.count).map { ordinal in
            NewTest.Recording(
                tests: content.tests(of: ordinal), line: content.line(of: ordinal),
                target: try? content.target(at: ordinal))
        }
        return NewTest.notes(of: newTests, in: file, opened: openedNames)
    }

    /// The interactions that no test has played and that belong to tests which ran, so that no other test plays them either.
    ///
    /// A file in which an interaction belongs to no test lends all of them to each test.
    private func ofTestsThatRan(_ describe: Description) -> UnusedInteractionsError? {
        guard !isNewVersion, let left, !left.unplayed.isEmpty else { return nil }
        let tests = (0..<left.content.count).map(left.content.tests)
        let opened = openedNames
        let unused = left.unplayed.filter { opened.isSuperset(of: tests[$0]) }
        guard !unused.isEmpty, !tests.contains(where: \.isEmpty) else { return nil }
        return describe(unused, left.content)
    }

    /// Whether the interactions of the file have other places than they had before the run.
    private var isNewVersion: Bool { isWritten || hasChanged }

    /// The interactions of tests that did not run, in the file as the run has written it.
    private func ofAbsentTests(_ describe: Description) -> UnusedInteractionsError? {
        guard let content = read?() else { return nil }
        let absent = Self.absent(Set(0..<content.count), in: content, except: openedNames)
        guard !absent.isEmpty else { return nil }
        return describe(absent, content).removing(
            testsThatDidNotRun: Set(absent.flatMap(content.tests)), isAll: true, hasNewNames: true)
    }

    /// The interactions that belong to tests, none of which has opened the file.
    private static func absent(
        _ ordinals: Set<Int>, in content: CassetteContent, except opened: Set<String>
    ) -> Set<Int> {
        ordinals.filter { ordinal in
            let tests = content.tests(of: ordinal)
            return !tests.isEmpty && opened.isDisjoint(with: tests)
        }
    }

    /// The names of all openings.
    var openedNames: Set<String> {
        Set(openings.flatMap { test, count in (1...count).map { TestOpening(test: test, number: $0).name } })
    }

    /// The interactions of cases that were in the file before the run, and in whose place it has recorded others.
    private func replacedCases(_ describe: Description) -> UnusedInteractionsError? {
        guard let original else { return nil }
        let replaced = TestCase.replaced(recorded: original.testNames, opened: openedNames)
        guard !replaced.isEmpty, let content = isNewVersion ? read?() : original else { return nil }
        let names = replaced.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        let ordinals = (0..<content.count).filter { ordinal in
            let tests = content.tests(of: ordinal)
            return !tests.isEmpty && names.isSuperset(of: tests)
        }
        guard !ordinals.isEmpty else { return nil }
        return describe(Set(ordinals), content).removingCases(of: replaced.keys)
    }
}
