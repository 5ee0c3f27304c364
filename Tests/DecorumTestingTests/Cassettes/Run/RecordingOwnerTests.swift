import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The tests that an interaction of a shared cassette answers, and that answer for it when it is unused.
@Suite struct RecordingOwnerTests: SharedRecording {
    let folder = TemporaryFolder()

    @Test func `A recording with a test answers that test alone, if all others have one too`() async throws {
        try await run(.once, Course("guest", ["/feed": "news"]), Course("member", ["/me": "Ann"]))
        for (test, path) in [("member", "/feed"), ("guest", "/me")] {
            let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
                at: folder.path("shared.json"), rules: nil, mode: .replay, test: test)
            let miss = await #expect(throws: CassetteMissError.self, "\(test)") {
                try await CassetteConnection(cassette).send(.get("https://example.com" + path))
            }
            let (number, owner) = path == "/feed" ? (1, "guest") : (2, "member")
            #expect(
                miss?.explanation == "interaction \(number) matches, but answers only \(owner)"
            )
        }
        // Without the name of a test, no recording is that of another one.
        let cassette = try Cassette(at: folder.path("shared.json"), mode: .replay)
        for path in ["/me", "/feed"] {
            _ = try await CassetteConnection(cassette).send(.get("https://example.com" + path))
        }
        try await cassette.finish()
    }

    @Test func `A file in which recordings have no test lends all of them`() async throws {
        func interaction(_ path: String, _ tests: String) -> String {
            #"{"request": {"method": "GET", "url": "https://example.com\#(path)"},"#
                + #" "response": {"status": 200, "text": "a"}\#(tests)}"#
        }
        let interactions = [interaction("/a", #", "tests": ["one"]"#), interaction("/b", "")].joined(separator: ",")
        try folder.write(#"{"cassette": 1, "interactions": [\#(interactions)]}"#, to: "shared.json")
        try await run(.replay, Course("one", ["/a": "a", "/b": "a"]), Course("other", ["/a": "a", "/b": "a"]))
    }

    @Test func `The openings of a file by one test answer each other, and no other test`() async throws {
        let other = Course("test 2nd", ["/c": "3"])
        try await run(.once, Course("test", ["/a": "1"]), Course("test", ["/b": "2"]), other)
        try await run(.replay, Course("test", ["/b": "2"]), Course("test", ["/a": "1"]), other)
        let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: folder.path("shared.json"), rules: nil, mode: .replay, test: "test 2nd")
        await #expect(throws: CassetteMissError.self) {
            try await CassetteConnection(cassette).send(.get("https://example.com/a"))
        }
    }

    @Test func `A miss shows a recording of another test only if the test has none with the path`() async throws {
        try await run(
            .once, Course("guest", ["/me?full=1": "nobody"]), Course("member", ["/me": "Ann", "/feed": "news"]))
        for (path, nearest) in [("/me?full=1", 2), ("/feed?page=2", 1), ("/new", 1)] {
            let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
                at: folder.path("shared.json"), rules: nil, mode: .replay, test: "member")
            let miss = await #expect(throws: CassetteMissError.self) {
                try await CassetteConnection(cassette).send(.get("https://example.com" + path))
            }
            let text = miss?.explanation ?? ""
            #expect(text.contains("closest: interaction \(nearest), not played so far"), "\(path) \(text)")
        }
    }

    /// Runs the tests of a suite in turn, and returns the interactions that it reports as unused.
    private func errors(
        in courses: [Course], isPartial: Bool = false
    ) async throws -> [UnusedInteractionsError] {
        let shared = SharedCassettes(isPartial: isPartial)
        for course in courses {
            let cassette = try CassetteDefaults(shared: shared).cassette(
                at: folder.path("shared.json"), rules: nil, mode: .once, test: course.test)
            for (path, answer) in course.exchanges {
                let stub = StubConnection(Response(status: .ok, body: Body(Data(answer.utf8))))
                _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com" + path))
            }
            try await cassette.finish()
        }
        return shared.unused()
    }

    /// The requests of these interactions.
    private func unused(in courses: [Course], isPartial: Bool = false) async throws -> [String] {
        try await errors(in: courses, isPartial: isPartial).flatMap(\.requests)
    }

    @Test func `A filter hides no unused interaction of a test that has run`() async throws {
        let (one, other) = (Course("one", ["/a": "1", "/b": "1"]), Course("other", ["/a": "2", "/c": "2"]))
        #expect(try await unused(in: [one, other]).isEmpty)
        // A run in which a test has recorded judges no interaction, and the next one does.
        let more = Course("more", ["/d": "1"])
        #expect(try await unused(in: [more, other]).isEmpty)
        #expect(try await unused(in: [more, other]) == ["GET https://example.com/a", "GET https://example.com/b"])
        #expect(try await unused(in: [one], isPartial: true).isEmpty)
        let changed = Course("one", ["/a": "1"])
        #expect(try await unused(in: [changed], isPartial: true) == ["GET https://example.com/b"])
        // Both tests have recorded the last interaction, and one of them is left out.
        let text = try folder.text("shared.json")
        let both = text.replacing(/"tests": \[?"one"\]?/, with: #""tests": ["one", "other"]"#)
        #expect(both != text)
        try folder.write(both, to: "shared.json")
        #expect(try await unused(in: [changed], isPartial: true).isEmpty)
    }

    @Test(arguments: [CassetteMode.rewrite, .append])
    func `A test without its suite does not write over the recordings of others`(mode: CassetteMode) async throws {
        try await run(.once, Course("one", ["/a": "1"]), Course("one", ["/b": "2"]))
        func alone() throws -> Cassette {
            try CassetteDefaults().cassette(at: folder.path("shared.json"), rules: nil, mode: mode, test: "one")
        }
        #expect(try alone().mode == mode)
        try await run(.once, Course("two", ["/b": "2"]))
        #expect(try Cassette(at: folder.path("shared.json"), mode: mode).mode == mode)
        let error = #expect(throws: CassetteError.self) { try alone() }
        #expect(error?.reason.hasPrefix("it has recordings of other tests, such as two; ") == true)
    }

    @Test(arguments: [
        ("ItemTests.create", "AppTests.ItemTests/create()"), ("ItemTests.finds", "AppTests.ItemTests/finds(_:)"),
        ("Outer.Inner.finds(1)", "AppTests.Outer/Inner/finds(_:)"), ("testFeed", "AppTests.FeedCase/testFeed"),
        ("FeedTests.A page (of two)(1)", "AppTests.FeedTests/`A page (of two)`(_:)"),
        ("FeedTests.page(#1a, .free(2)) 2", "AppTests.FeedTests/page(_:)"),
        ("FeedTests.It's read (v1.0), \"now\"", "AppTests.FeedTests/`It's read (v1.0), \"now\"`()"),
    ])
    func `A command finds the test in a shell, and no longer name`(name: String, identifier: String) throws {
        let command = Cassette.command(.rewrite, for: name)
        let parts = command.split(separator: "'")
        try #require(parts.count == 2, "\(command)")
        #expect(parts[0] == "CASSETTE=rewrite swift test --filter ")
        let regex = try Regex(String(parts[1]))
        #expect(identifier.contains(regex))
        guard !identifier.contains("`"), let end = identifier.lastIndex(of: "(") else { return }
        #expect(!(identifier[..<end] + "Empty()").contains(regex))
    }
}
