/// The other tests whose recordings are in a file that a test takes for its own, because its suite does not share it.
///
/// Without the trait `.cassettes()`, a test would replace their recordings, add to them without its name, or be answered
/// by them.
struct ForgottenSuite: Hashable, Sendable {
    /// The names of the other tests, in alphabetical order.
    let tests: [String]

    /// How to share the file, or to be rid of the recordings.
    static let remedy = "write `@Suite(.cassettes())`; if the other tests no longer exist, delete the file"

    /// The fault of a file, which `subject` names.
    func fault(of subject: String) -> String {
        let names = tests.prefix(3).joined(separator: ", ") + (tests.count > 3 ? " and \(tests.count - 3) more" : "")
        return
            "\(subject) has recordings of other tests (\(names)), and the suite lacks the trait `.cassettes()`, without "
            + "which each test takes the file for its own"
    }
}

extension ForgottenSuite {
    /// Finds the tests besides one among those that have recorded a file; nil if there are none.
    init?(besides test: String, among names: Set<String>) {
        let opening = TestOpening(test: test, number: 1)
        let others = names.filter { !opening.isOfSameTest($0) }
        guard !others.isEmpty else { return nil }
        self.init(tests: others.sorted())
    }
}
