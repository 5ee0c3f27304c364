/// One case of a parameterised test, by the name under which its recordings are in a shared file.
///
/// Where the text of an argument differs in each run, each run has new cases: they record again, and what earlier runs have
/// recorded is never played.
struct TestCase: Hashable, Sendable {
    /// The name of the test, without the arguments.
    let test: String
    /// The whole name.
    let name: String

    /// Reads a name, as in `FeedTests.page(2)`; nil if it has no arguments.
    ///
    /// A parenthesis behind a blank is part of a test's name in words.
    init?(_ name: String) {
        let bytes = Array(name.utf8)
        let isOpen = bytes.indices.first { index in
            bytes[index] == UInt8(ascii: "(") && index > 0 && bytes[index - 1] != UInt8(ascii: " ")
        }
        guard let open = isOpen, bytes[open...].contains(UInt8(ascii: ")")) else { return nil }
        test = String(decoding: bytes[..<open], as: UTF8.self)
        self.name = name
    }

    /// The remedy for tests of which this run has opened other cases than the file has.
    static func remedy(for tests: some Sequence<String>) -> String {
        "\(tests.sorted().joined(separator: ", ")) ran with new cases, and without some recorded ones: \(remedy)"
    }

    /// The remedy for a test whose arguments have another text in each run.
    ///
    /// A new recording keeps those of cases that no longer exist.
    static let remedy =
        "delete the recordings of cases that no longer exist, the last one first; \(steadyText), and record again"

    /// The remedy for an argument whose text looks like one that differs in each run.
    static let steadyText =
        "if the text of an argument differs in each run, conform its type to `CustomTestStringConvertible` with a text that "
        + "stays the same"

    /// The other cases of a test among some names, in alphabetical order; empty for a test without arguments.
    static func others(of name: String, in names: Set<String>) -> [String] {
        guard let test = TestCase(name)?.test else { return [] }
        return names.filter { $0 != name && TestCase($0)?.test == test }.sorted()
    }

    /// The cases of tests in a file that this run has not opened, although it has opened cases of the same tests that the
    /// file did not have: by the names of the tests.
    static func replaced(recorded: Set<String>, opened: Set<String>) -> [String: Set<String>] {
        let new = Set(opened.subtracting(recorded).compactMap { TestCase($0)?.test })
        guard !new.isEmpty else { return [:] }
        let left = recorded.subtracting(opened).compactMap { TestCase($0) }.filter { new.contains($0.test) }
        return Dictionary(grouping: left, by: \.test).mapValues { Set($0.map(\.name)) }
    }
}
