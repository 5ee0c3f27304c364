/// The other tests whose recordings are in a file that a test takes for its own, because its suite does not share it.
///
/// Without the trait `.cassettes()`, a test would replace their recordings, add to them without its name, or be answered
/// by them.
struct ForgottenSuite: Hashable, Sendable {
    /// The names of the other tests, in alphabetical order.
    let tests: [String]

    /// The suite of the test; nil if it is unknown.
    let suite: String?

    /// How to share the file, and then to be rid of recordings.
    var remedy: String {
        "write `@Suite(.cassettes())` before the suite\(suiteName), with its `rules:` if it had some; after that, recordings of "
            + "tests that no longer exist can be deleted from the file"
    }

    private var suiteName: String { suite.map { " \($0)" } ?? "" }

    /// The fault of a file, which `subject` names.
    func fault(of subject: String) -> String {
        let names = tests.prefix(3).joined(separator: ", ") + (tests.count > 3 ? " and \(tests.count - 3) more" : "")
        return
            "\(subject) has recordings of other tests (\(names)), and the suite\(suiteName) lacks the trait `.cassettes()`, "
            + "without which each test takes the file for its own"
    }
}

extension ForgottenSuite {
    /// Finds the tests besides one among those that have recorded a file; nil if there are none.
    init?(besides test: String, among names: Set<String>) {
        let opening = TestOpening(test: test, number: 1)
        let others = names.filter { !opening.isOfSameTest($0) }
        guard !others.isEmpty else { return nil }
        let words = (TestCase(test)?.test ?? test).split(separator: ".", omittingEmptySubsequences: false)
        // A name in words may have full stops and blanks, and the suites are before it.
        let plain = words.prefix { !$0.isEmpty && !$0.contains(" ") }
        let suite = (plain.count == words.count ? plain.dropLast() : plain).last
        self.init(tests: others.sorted(), suite: suite.map(String.init))
    }
}
