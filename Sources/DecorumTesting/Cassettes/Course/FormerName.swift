/// The name that a renamed test may have had, among the names of the recordings in a shared file.
enum FormerName {
    /// The name that is similar to that of a test: a similar one in the same suite, else the same test in another suite, else the
    /// nearest one; nil if none is similar.
    ///
    /// A name such as `create` is in many suites, so the names of the same suite come first.
    static func similar(to test: String, among names: some Collection<String>) -> String? {
        inSameSuite(test, among: names) ?? inAnotherSuite(test, among: names)
            ?? SimilarName.nearest(to: test, among: names)
    }

    /// The name in the same suite whose function is nearest.
    private static func inSameSuite(_ test: String, among names: some Collection<String>) -> String? {
        let (suites, function) = parts(of: test)
        let beside = Dictionary(names.filter { parts(of: $0).suites == suites }.map { (parts(of: $0).function, $0) }) {
            $1
        }
        return SimilarName.nearest(to: function, among: beside.keys).flatMap { beside[$0] }
    }

    /// The name among those of some tests that differs from another one in one of the suites alone, such as `ItemTests.create`
    /// and `EntryTests.create`; of several, the nearest.
    static func inAnotherSuite(_ test: String, among names: some Collection<String>) -> String? {
        let (suites, function) = parts(of: test)
        let found = names.filter { name in
            let other = parts(of: name)
            return other.function == function && other.suites.count == suites.count
                && zip(suites, other.suites).count { $0 != $1 } == 1
        }
        return SimilarName.nearest(to: test.lowercased(), of: found)
    }

    /// The suites of a test, and its function with the arguments, in which a full stop separates nothing.
    private static func parts(of name: String) -> (suites: [Substring], function: String) {
        let test = TestCase(name)?.test ?? name
        guard let stop = test.lastIndex(of: ".") else { return ([], name) }
        let function = name.utf8.index(name.startIndex, offsetBy: test[...stop].utf8.count)
        return (test[..<stop].split(separator: ".", omittingEmptySubsequences: false), String(name[function...]))
    }
}
