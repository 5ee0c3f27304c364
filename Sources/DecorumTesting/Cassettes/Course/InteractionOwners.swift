/// The interactions of a file by the tests that have recorded them, as one test sees them.
struct InteractionOwners: Sendable {
    /// Those of other tests and of other openings by this test, which answer only if no interaction of its own does.
    private(set) var foreign: Set<Int> = []
    /// Those among ``foreign`` that answer no request of the test.
    private(set) var withheld: Set<Int> = []
    /// Those that belong to no test, and so to each.
    private(set) var unowned: Set<Int> = []
    /// Whether the test has recorded any.
    private(set) var hasOwn = false
    private var count = 0

    /// The owners of a file that is not shared: nothing in it belongs to another test.
    init() {}

    /// The owners as a test of a suite sees them; as in a file that is not shared if the test is unknown.
    init(of content: CassetteContent, for opening: TestOpening?) {
        guard let opening else { return }
        let name = opening.name
        count = content.count
        for ordinal in 0..<count {
            let tests = content.tests(of: ordinal)
            if tests.isEmpty {
                unowned.insert(ordinal)
            } else if tests.contains(name) {
                hasOwn = true
            } else {
                foreign.insert(ordinal)
                if !tests.contains(where: opening.isOfSameTest) { withheld.insert(ordinal) }
            }
        }
        // A file in which some name no test was recorded without the suite, or before tests were named: it lends all.
        if !unowned.isEmpty { withheld = [] }
    }

    /// Whether other tests have recorded the whole file, so that this one has nothing in it yet.
    var isNewTest: Bool { count > 0 && foreign.count == count }

    /// Whether no interaction of the file answers the test, since other tests have recorded all of them.
    var answerNothing: Bool { count > 0 && withheld.count == count }

    /// Whether the age of an interaction matters to the test: its own do, or without any those of no test.
    func areOf(_ ordinal: Int) -> Bool {
        !foreign.contains(ordinal) && (!hasOwn || !unowned.contains(ordinal))
    }
}
