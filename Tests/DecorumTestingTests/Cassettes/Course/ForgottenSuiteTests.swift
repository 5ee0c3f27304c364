import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A file that the tests of a suite share, whose suite has lost the trait `.cassettes()`.
@Suite struct ForgottenSuiteTests: SharedRecording {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private static let fault =
        "has recordings of other tests (four, three, two), and the suite lacks the trait `.cassettes()`, without which "
        + "each test takes the file for its own"
    private static let remedy =
        "write `@Suite(.cassettes())` before the suite, with its `rules:` if it had some; after that, recordings of tests that "
        + "no longer exist can be deleted from the file"

    /// Records one file by four tests of a suite.
    private func record() async throws {
        try await run(
            .once, Course("one", ["/a": "1"]), Course("two", ["/b": "2"]), Course("three", ["/c": "3"]),
            Course("four", ["/d": "4"]))
    }

    /// The cassette of a test without its suite.
    private func alone(_ mode: CassetteMode, test: String? = "one", rules: CassetteRules? = nil) throws -> Cassette {
        try CassetteDefaults().cassette(at: folder.path("shared.json"), rules: rules, mode: mode, test: test)
    }

    @Test(arguments: [CassetteMode.rewrite, .append])
    func `A test without its suite does not write over the recordings of others`(mode: CassetteMode) async throws {
        try await record()
        let text = try folder.text("shared.json")
        let error = #expect(throws: CassetteError.self) { try alone(mode) }
        #expect(error?.reason == "it \(Self.fault): \(Self.remedy)")
        #expect(try folder.text("shared.json") == text)
    }

    @Test(arguments: [
        "FeedTests.first", "AppTests.FeedTests.first page(2)", "FeedTests.Version 1.2.3 works",
        "FeedTests.Reads a.b.c of d",
    ])
    func `The suite of the test is named`(test: String) async throws {
        try await record()
        let error = #expect(throws: CassetteError.self) { try alone(.rewrite, test: test) }
        let reason = try #require(error?.reason)
        #expect(reason.contains("and the suite FeedTests lacks the trait `.cassettes()`"), "\(reason)")
        #expect(reason.contains("`@Suite(.cassettes())` before the suite FeedTests, with its `rules:` if"), "\(reason)")
    }

    @Test func `At most three tests are named`() async throws {
        try await record()
        let error = #expect(throws: CassetteError.self) { try alone(.rewrite, test: "new") }
        #expect(error?.reason.contains("other tests (four, one, three and 1 more), and ") == true)
    }

    @Test func `A file with recordings of the same test alone, or a test without a name, writes`() async throws {
        try await run(.once, Course("one", ["/a": "1"]), Course("one", ["/b": "2"]))
        #expect(try alone(.rewrite).mode == .rewrite)
        #expect(try alone(.append).mode == .append)
        try await run(.once, Course("two", ["/b": "2"]))
        #expect(try Cassette(at: folder.path("shared.json"), mode: .rewrite).mode == .rewrite)
    }

    @Test func `Interactions of others that were not played are told with the trait, and not with a command`()
        async throws
    {
        try await record()
        let cassette = try alone(.replay)
        _ = try await CassetteConnection(cassette).send(.get("https://example.com/a"))
        let error = await #expect(throws: UnusedInteractionsError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(text.hasPrefix("The cassette \(error?.file ?? "") \(Self.fault).\nOf the cassette "), "\(text)")
        #expect(text.hasSuffix("\nfix: \(Self.remedy)"), "\(text)")
        #expect(!text.contains("CASSETTE="), "\(text)")
    }

    @Test func `A miss is told with the trait, and not with a command`() async throws {
        try await record()
        let connection = CassetteConnection(try alone(.replay))
        let error = await #expect(throws: CassetteMissError.self) {
            try await connection.send(.get("https://example.com/new"))
        }
        let text = try #require(error).description
        #expect(error?.explanation.hasPrefix("the file \(Self.fault)\n") == true, "\(text)")
        #expect(text.contains("\nfix: \(Self.remedy)\n"), "\(text)")
        #expect(!text.contains("CASSETTE="), "\(text)")
    }

    @Test func `A test that fails with an answer of another test is told of the trait`() async throws {
        try await record()
        let cassette = try alone(.replay)
        _ = try await CassetteConnection(cassette).send(.get("https://example.com/d"))
        var notes: [String] = []
        await cassette.reportFailedTest(shown: []) {
            Issue.record($0)
        } noting: {
            notes.append($0)
        }
        #expect(notes.first?.hasSuffix("so an answer may be that of another test.\nfix: \(Self.remedy)") == true)
        #expect(notes.count == 1)
    }
}
