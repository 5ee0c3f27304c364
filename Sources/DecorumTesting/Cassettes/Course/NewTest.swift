import Foundation

/// A test that has recorded in a shared file, and had no recordings in it before, so that it may be one that was renamed.
///
/// Where only some tests run, the recordings of the old name are not unused, since they may be those of a test that is left
/// out. So a test counts as renamed only if the recordings of one other test alone have the same requests. Even then, the other
/// test may exist, in a file that is not searched.
struct NewTest: Sendable {
    /// The name of the test, without the arguments of its case.
    let name: String
    let file: URL
    /// The texts of its requests, in alphabetical order.
    let requests: [String]
    /// The method and the URL of a request, as they are matched.
    let text: @Sendable (RecordedRequest) -> String

    /// An interaction of the file.
    struct Recording {
        let tests: [String]
        let line: Int?
        /// The method and the URL; nil if they cannot be read.
        let target: RecordedRequest?
    }

    /// The warnings for recordings of tests that did not run, with the requests of new tests; `opened` are the names of the
    /// tests that ran.
    static func notes(of tests: [NewTest], in file: [Recording], opened: Set<String>) -> [String] {
        let ran = Set(opened.map(Self.test)).map { TestOpening(test: $0, number: 1) }
        let own = file.indices.filter { file[$0].tests.count == 1 }
        let absent = Dictionary(grouping: own) { file[$0].tests.first ?? "" }
            .filter { name, _ in !ran.contains { $0.isOfSameTest(Self.test(of: name)) } }
        var places: [String: Set<Int>] = [:]
        for test in tests {
            guard let (old, ordinals) = test.formerRecordings(among: absent, in: file) else { continue }
            let note =
                "The cassette \(test.file.relativePath) also has recordings of \(old), which did not run, with the same "
                + "requests as the new ones of \(test.name). If \(old) no longer exists, since it was renamed, delete its "
                + "recordings"
            places[note, default: []].formUnion(ordinals)
        }
        return places.sorted { $0.key < $1.key }.map { note, ordinals in
            // The lines behind a deleted interaction are others.
            let lines = ordinals.sorted(by: >).compactMap { file[$0].line }.map { "line \($0)" }
            return lines.isEmpty ? "\(note)." : "\(note), the last one first:\(listed(lines))"
        }
    }

    /// The one test among those that did not run whose recordings have the same requests, with their places; nil if there is
    /// none, if there are several, or if the source of the tests still has its function.
    private func formerRecordings(
        among absent: [String: [Int]], in file: [Recording]
    ) -> (test: String, ordinals: [Int])? {
        let equal = absent.filter { _, ordinals in
            ordinals.count == requests.count && ordinals.compactMap { file[$0].target.map(text) }.sorted() == requests
        }
        let names = Set(equal.keys.map(Self.test))
        guard names.count == 1, let old = names.first, !isNamedInSource(old) else { return nil }
        return (old, equal.values.flatMap(\.self))
    }

    /// The name of a test, without the arguments of its case.
    static func test(of name: String) -> String { TestCase(name)?.test ?? name }

    /// Whether the source file of the tests has the function of a test.
    private func isNamedInSource(_ test: String) -> Bool {
        let parts = test.split(separator: ".", omittingEmptySubsequences: false)
        let functions = NamedCassettes.source(beside: file).map { NamedCassettes.functions(in: $0.text) } ?? []
        // A name in words may have full stops.
        return parts.indices.contains { functions.contains(CassettePath.fileName(parts[$0...].joined(separator: "."))) }
    }
}
