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
    /// The requests that it has recorded.
    let requests: [RecordedRequest]
    /// The method and the URL of a request, as they are matched.
    let text: @Sendable (RecordedRequest) -> String

    /// An interaction of the file.
    struct Recording {
        let tests: [String]
        let line: Int?
        /// The method and the URL; nil if they cannot be read.
        let target: RecordedRequest?
    }

    /// The warnings for recordings of tests that did not run, with the requests of new tests of one file; `opened` are the names
    /// of the tests that ran.
    ///
    /// The rules of the first test tell the requests of all tests apart, so that each request is redacted once.
    static func notes(of tests: [NewTest], in file: [Recording], opened: Set<String>) -> [String] {
        guard let first = tests.first else { return [] }
        let absent = recordings(ofAbsentTests: opened, in: file, counting: Set(tests.map(\.requests.count)))
        let former = Dictionary(grouping: absent) { _, ordinals in
            ordinals.map { file[$0].target.map(first.text) ?? "" }.sorted()
        }.mapValues { equal in
            (names: Set(equal.map { Self.test(of: $0.key) }), ordinals: equal.flatMap(\.value))
        }
        let found = tests.compactMap { test in
            former[test.requests.map(first.text).sorted()].map { (test.name, $0) }
        }
        let functions = found.isEmpty ? [] : functions(beside: first.file)
        var places: [String: Set<Int>] = [:]
        for (name, equal) in found {
            guard equal.names.count == 1, let old = equal.names.first, !isNamed(old, by: functions) else { continue }
            let note =
                "The cassette \(first.file.relativePath) also has recordings of \(old), which did not run, with the same "
                + "requests as the new ones of \(name). If \(old) no longer exists, since it was renamed, delete its "
                + "recordings"
            places[note, default: []].formUnion(equal.ordinals)
        }
        return places.sorted { $0.key < $1.key }.map { note, ordinals in
            // The lines behind a deleted interaction are others.
            let lines = ordinals.sorted(by: >).compactMap { file[$0].line }.map { "line \($0)" }
            return lines.isEmpty ? "\(note)." : "\(note), the last one first:\(listed(lines))"
        }
    }

    /// The places of the recordings of each test that did not run and that has one of some numbers of them, by its name.
    ///
    /// A recording of several tests is left out.
    private static func recordings(
        ofAbsentTests opened: Set<String>, in file: [Recording], counting counts: Set<Int>
    ) -> [String: [Int]] {
        let ran = Set(opened.map(Self.test)).map { TestOpening(test: $0, number: 1) }
        let own = file.indices.filter { file[$0].tests.count == 1 }
        return Dictionary(grouping: own) { file[$0].tests.first ?? "" }.filter { name, ordinals in
            guard counts.contains(ordinals.count) else { return false }
            let test = Self.test(of: name)
            return !ran.contains { $0.isOfSameTest(test) }
        }
    }

    /// The name of a test, without the arguments of its case.
    static func test(of name: String) -> String { TestCase(name)?.test ?? name }

    /// The functions in the source file of the tests; empty if it cannot be read.
    private static func functions(beside file: URL) -> Set<String> {
        NamedCassettes.source(beside: file).map { NamedCassettes.functions(in: $0.text) } ?? []
    }

    /// Whether one of some functions is that of a test.
    private static func isNamed(_ test: String, by functions: Set<String>) -> Bool {
        let parts = test.split(separator: ".", omittingEmptySubsequences: false)
        // A name in words may have full stops.
        return parts.indices.contains { functions.contains(CassettePath.fileName(parts[$0...].joined(separator: "."))) }
    }
}
