import Decorum
import Foundation
import Synchronization
import Testing

@testable import DecorumTesting

/// A test that records for the first time is told of recordings that it may have had under another name.
@Suite struct NewTestTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs tests of a suite, each of which sends its requests, and returns the warnings of the suite.
    private func notes(
        _ tests: KeyValuePairs<String, [String]>, mode: CassetteMode = .once, rules: CassetteRules = CassetteRules(),
        isPartial: Bool = true, in file: String = "shared.json"
    ) async throws -> [String] {
        let shared = SharedCassettes(isPartial: isPartial)
        for (test, paths) in tests {
            let cassette = try CassetteDefaults(shared: shared).cassette(
                at: folder.path(file), rules: rules, mode: mode, test: test)
            let connection = CassetteConnection(cassette, recording: StubConnection { _ in Response(status: .ok) })
            for path in paths { _ = try await connection.send(.get("https://example.com" + path)) }
            try await cassette.finish()
        }
        return shared.notesOfFormerNames().map { $0.replacing(folder.url.path + "/", with: "") }
    }

    @Test func `A test that records the requests of one that did not run is told`() async throws {
        #expect(try await notes(["T.lending": ["/login", "/loans"], "T.profile": ["/login"]]).isEmpty)
        let notes = try await notes(["T.borrowing": ["/loans", "/login"], "T.profile": ["/login"]])
        let lines = try folder.text("shared.json").split(separator: "\n", omittingEmptySubsequences: false)
        let note = try #require(notes.first)
        #expect(notes.count == 1)
        let start = """
            The cassette shared.json also has recordings of T.lending, which did not run, with the same requests as the new \
            ones of T.borrowing. If T.lending no longer exists, since it was renamed, delete its recordings, the last one first:
              line
            """
        #expect(note.hasPrefix(start), "\(note)")
        let places = note.split(separator: "line ").dropFirst().compactMap {
            Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        #expect(places.count == 2 && places == places.sorted(by: >), "\(note)")
        for place in places {
            let owner = try #require(lines[(place - 1)...].first { $0.contains("\"tests\"") })
            #expect(owner.contains("T.lending"), "\(owner)")
        }
    }

    @Test func `Only the first recording of a test counts, where a filter leaves out tests`() async throws {
        #expect(try await notes(["T.lending": ["/a"], "T.other": ["/b"]]).isEmpty)
        // All tests run, so the suite fails with the recordings.
        #expect(try await notes(["T.borrowing": ["/a"]], isPartial: false).isEmpty)
        #expect(try await notes(["T.borrowing": ["/a"]]).isEmpty)
        #expect(try await notes(["T.borrowing": ["/a"]], mode: .rewrite).isEmpty)
        #expect(try await notes(["T.allowed": ["/b"]], rules: CassetteRules(unused: .allow)).isEmpty)
    }

    @Test func `Other requests, a test that ran, and several tests are no former name`() async throws {
        #expect(try await notes(["T.lending": ["/a"], "T.one": ["/b"], "T.two": ["/b"], "T.page(1)": ["/c"]]).isEmpty)
        #expect(try await notes(["T.more": ["/a", "/a"]]).isEmpty)
        #expect(try await notes(["T.both": ["/a"], "T.lending": ["/a"]]).isEmpty)
        #expect(try await notes(["T.either": ["/b"]]).isEmpty)
        // A case that is gone belongs to a test that ran.
        #expect(try await notes(["T.page(2)": ["/d"], "T.first": ["/c"]]).isEmpty)
    }

    @Test func `The cases of a renamed test are told together`() async throws {
        #expect(try await notes(["T.loans(ada)": ["/a"], "T.loans(eve)": ["/e"]]).isEmpty)
        let notes = try await notes(["T.lent(ada)": ["/a"], "T.lent(eve)": ["/e"]])
        #expect(
            notes.count == 1 && notes.first?.contains(" recordings of T.loans, which did not run") == true, "\(notes)")
        #expect(notes.first?.components(separatedBy: "\n  line ").count == 3, "\(notes)")
    }

    @Test func `Each request is redacted once for all tests of a suite`() {
        let count = Mutex(0)
        func target(_ number: Int) -> RecordedRequest { RecordedRequest(method: "GET", url: "/\(number)") }
        let file = (0..<50).map { number in
            NewTest.Recording(tests: ["Old.t\(number)"], line: number + 1, target: target(number))
        }
        let tests = (0..<50).map { number in
            NewTest(name: "New.t\(number)", file: folder.url.appending(path: "a.json"), requests: [target(number)]) {
                request in
                count.withLock { $0 += 1 }
                return request.url
            }
        }
        let notes = NewTest.notes(of: tests, in: file, opened: Set(tests.map(\.name)))
        #expect(notes.count == 50)
        #expect(count.withLock { $0 } == 100)
    }

    @Test(arguments: [("lending", false), ("borrowing", true)])
    func `A test whose function is in the source was left out`(function: String, isTold: Bool) async throws {
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "Cassettes/LoanTests"), withIntermediateDirectories: true)
        try folder.write("@Test func \(function)() {}\n", to: "LoanTests.swift")
        let file = "Cassettes/LoanTests/shared.json"
        #expect(try await notes(["T.lending": ["/a"]], in: file).isEmpty)
        #expect(try await notes(["T.borrowing": ["/a"]], in: file).isEmpty != isTold)
    }
}
