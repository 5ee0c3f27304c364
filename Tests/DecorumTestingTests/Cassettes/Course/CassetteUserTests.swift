import Decorum
import Foundation
import Testing

@testable import DecorumTesting

/// Two tests without `.cassettes()` on their suite, one of which names the cassette of the other.
@Suite struct CassetteUserTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        arguments: [
            ("@Test(.cassette) func feed() {", "feed feed"),
            ("@Test(.timeLimit(.minutes(1)), .cassette)\nfunc a()", "a a"),
            ("@Test(.cassette(rules: .feed)) func `Reads it`() {", "Reads it Reads it"),
            ("@Test(.cassette(\"feed\")) func a() {", "a feed"),
            ("@Test(.cassette(\n  \"feed\", rules: .feed))\n  func a() {", "a feed"), ("@Test func feed() {", nil),
            ("func feed() { _ = Trait.cassette", nil), ("// @Test(.cassette) func feed() {", nil),
            ("@Suite(.cassettes()) struct FeedTests {\n@Test func feed() {", nil),
            ("@Test(.cassette(name)) func a() {", nil),
            ("@Test func a() {\n}\nfunc b() { .cassette }", nil),
        ] as [(String, String?)])
    func `The tests of a source are read with their cassettes`(source: String, user: String?) {
        let users = CassetteUser.all(in: "import Testing\n" + source).map { "\($0.test) \($0.cassette)" }
        #expect(users == (user.map { [$0] } ?? []))
    }

    /// Records a file by a test `feed`, and returns the text of the miss of a test that names it.
    private func miss(of function: String, beside source: String) async throws -> String {
        try folder.write(source, to: "FeedTests.swift")
        let file = folder.path("FeedTests.swift")
        try await withCassette(mode: .once, filePath: file, function: "feed()") { cassette in
            let stub = StubConnection(Response(status: .ok))
            _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/a"))
        }
        let miss = await #expect(throws: CassetteMissError.self) {
            try await withCassette("feed", mode: .replay, filePath: file, function: function) { cassette in
                _ = try await CassetteConnection(cassette).send(.get("https://example.com/b"))
            }
        }
        return try #require(miss).description
    }

    @Test(arguments: ["@Test(.cassette) func feed() {}", "@Test(.cassette(\"feed\")) func feed() {}"])
    func `A miss in the file of another test names that test, and advises a name of its own`(source: String)
        async throws
    {
        let text = try await miss(of: "other()", beside: source)
        #expect(
            text.contains(
                "\nfix: the test `feed` in FeedTests.swift uses this file too, and `CASSETTE=rewrite` would replace its "
                    + "recordings; give the cassette of this test a name of its own; or, if both are to share the file, first put "
                    + "the trait `.cassettes()` on their suite, as in `@Suite(.cassettes()) struct FeedTests`, and then record "
                    + "this test\n"), "\(text)")
        #expect(!text.contains("records the test anew"), "\(text)")
    }

    @Test func `The source is read at the first miss alone`() async throws {
        _ = try await miss(of: "other()", beside: "@Test(.cassette) func feed() {}")
        let cassette = try CassetteDefaults().cassette(
            at: folder.path("Cassettes/FeedTests/feed.json"), rules: nil, mode: .replay, test: "other")
        for path in ["/b", "/c"] {
            let miss = await #expect(throws: CassetteMissError.self) {
                try await CassetteConnection(cassette).send(.get("https://example.com" + path))
            }
            #expect(miss?.description.contains("the test `feed` in FeedTests.swift uses this file too") == true)
            try? FileManager.default.removeItem(atPath: folder.path("FeedTests.swift"))
        }
    }

    @Test func `A changed answer keeps its own advice`() async throws {
        let source = "@Test(.cassette) func feed() {}"
        _ = try await miss(of: "other()", beside: source)
        let stub = StubConnection(Response(status: .notFound))
        let drift = await #expect(throws: CassetteDriftError.self) {
            try await withCassette(
                "feed", mode: .verify, filePath: folder.path("FeedTests.swift"), function: "other()"
            ) { cassette in
                _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/a"))
            }
        }
        let text = try #require(drift).description
        #expect(text.contains("records the test anew") && !text.contains("uses this file too"), "\(text)")
    }

    @Test(
        arguments: [
            ("feed()", "@Test(.cassette(\"feed\")) func feed() {}"), ("other()", "func feed() {}"),
            ("`feed(two)`()", "@Test(.cassette(\"feed\")) func `feed(two)`() {}"),
        ])
    func `A test that alone names its cassette gets the other advice`(function: String, source: String) async throws {
        let text = try await miss(of: function, beside: source)
        #expect(
            text.contains(
                "records the test anew; if the file was edited, restore it; if several tests share the cassette \"feed\", first put"
            ), "\(text)")
    }
}
