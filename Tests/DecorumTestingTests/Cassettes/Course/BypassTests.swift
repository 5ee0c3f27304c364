import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A replayed test that fails without a request to its cassette.
@Suite struct BypassTests: SharedRecording {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The notes of a failed test that sends requests for some paths.
    private func notes(
        _ cassette: Cassette, sending paths: [String] = [], shown: [String] = []
    ) async throws -> [String] {
        for path in paths { _ = try? await CassetteConnection(cassette).send(.get("https://example.com" + path)) }
        var notes: [String] = []
        await cassette.reportFailedTest(shown: shown + cassette.failures.map { "\($0)" }) {
            Issue.record($0)
        } noting: {
            notes.append($0)
        }
        return notes
    }

    private func cassette(_ mode: CassetteMode, recording count: Int, rules: CassetteRules = CassetteRules()) throws
        -> Cassette
    {
        let interaction =
            #"{"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 200}}"#
        let list = Array(repeating: interaction, count: count).joined(separator: ",\n")
        try folder.write("{\"cassette\": 1, \"interactions\": [\n\(list)]}", to: "a.json")
        return try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
    }

    @Test(arguments: [(1, "1 is recorded (line 2)"), (2, "2 are recorded (line 2)")])
    func `A test that sends past its cassette is told`(count: Int, words: String) async throws {
        let notes = try await notes(cassette(.replay, recording: count))
        let note = try #require(notes.first)
        #expect(notes.count == 1)
        #expect(note.contains("a.json, though \(words). Unless it failed before its first request, "), "\(note)")
        #expect(note.hasSuffix("does it use `CassetteConnection()`?"), "\(note)")
    }

    @Test func `A test that fails before its first request is not told, unless its error names a recorded request`()
        async throws
    {
        let early = try await notes(cassette(.replay, recording: 1), shown: ["The base URL has no slash at its end."])
        #expect(early.isEmpty)
        let other = "The request was GET https://example.com/abc."
        #expect(try await notes(cassette(.replay, recording: 1), shown: [other]).isEmpty)
        let refused = "The connection was refused. The request was GET https://example.com/a."
        #expect(try await notes(cassette(.replay, recording: 1), shown: ["one", refused]).count == 1)
    }

    @Test(arguments: ["/a", "/new"]) func `A test that sends a request to its cassette is not`(path: String)
        async throws
    {
        #expect(try await notes(cassette(.replay, recording: 1), sending: [path]).isEmpty)
    }

    @Test func `A test that records, has no recording, or may leave all of them is not told`() async throws {
        #expect(try await notes(cassette(.append, recording: 1)).isEmpty)
        #expect(try await notes(cassette(.live, recording: 1)).isEmpty)
        #expect(try await notes(cassette(.replay, recording: 0)).isEmpty)
        #expect(try await notes(cassette(.replay, recording: 1, rules: CassetteRules(unused: .allow))).isEmpty)
    }

    @Test(arguments: [("one", true), ("other", false)])
    func `In a shared file, the recordings of the test itself count`(test: String, isTold: Bool) async throws {
        try await run(.once, Course("one", ["/a": "1"]), Course("two", ["/b": "2"]))
        let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: folder.path("shared.json"), rules: nil, mode: .replay, test: test)
        let notes = try await notes(cassette)
        #expect(notes.contains { $0.contains("shared.json, though 1 is recorded") } == isTold, "\(notes)")
    }
}
