import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// A recording answers a request whose content has another media type too, and the test is told.
@Suite struct MediaTypeNoteTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Sends content with a media type to a cassette that has recorded it with another one.
    private func cassette(
        recorded: String?, sending mediaType: String?, mode: CassetteMode = .replay,
        rules: CassetteRules = CassetteRules()
    ) async throws -> Cassette {
        let fields = recorded.map { #" "headers": {"Content-Type": "\#($0)"},"# } ?? ""
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "POST", "url": "https://example.com/items",\(fields) "text": "{\\"a\\":1}"},
             "response": {"status": 200, "text": "a"}}]}
            """, to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
        var request = try Request.post("https://example.com/items", body: Body(Data(#"{"a": 1}"#.utf8)))
        request.head.headerFields[.contentType] = mediaType
        let connection = CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
        _ = try await connection.send(request)
        return cassette
    }

    @Test(arguments: [("text/plain; charset=utf-8", "text/plain"), (nil, "none")] as [(String?, String)])
    func `Another media type is told, and the test passes`(sent: String?, shown: String) async throws {
        let cassette = try await cassette(recorded: "application/json", sending: sent)
        let note = try #require(cassette.notesOfPassedTest.first)
        #expect(cassette.notesOfPassedTest.count == 1)
        #expect(note.hasPrefix("1 request differs from the recording of "), "\(note)")
        #expect(note.contains("a.json in the media type of the content. Requests are matched without `Content-Type`, "))
        #expect(
            note.contains(
                "\n  POST https://example.com/items (line 2) was recorded with application/json, and has \(shown) now\n"
                    + "fix: send the recorded media type; if the change is meant, `CASSETTE=rewrite swift test` records the "
                    + "test anew"), "\(note)")
        try await cassette.finish()
    }

    @Test(
        arguments: [
            ("application/json", "Application/JSON; charset=utf-8"),
            ("application/json;charset=utf-8", "application/json"),
            (nil, "text/plain"), (nil, nil),
        ] as [(String?, String?)])
    func `Parameters and a recording without a media type are no difference`(
        recorded: String?, sent: String?
    ) async throws {
        #expect(try await cassette(recorded: recorded, sending: sent).notesOfPassedTest.isEmpty)
    }

    @Test func `A request that is sent to the server has no note`() async throws {
        let cassette = try await cassette(recorded: "application/json", sending: "text/plain", mode: .rewrite)
        #expect(cassette.notesOfPassedTest.isEmpty)
    }

    @Test func `A request without the recorded content has no note`() async throws {
        _ = try await cassette(recorded: "application/json", sending: nil)
        let rules = CassetteRules(matching: [.method, .url])
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        _ = try await CassetteConnection(cassette).send(.post("https://example.com/items"))
        #expect(cassette.notesOfPassedTest.isEmpty)
    }

    @Test func `A test that has failed is told too`() async throws {
        let cassette = try await cassette(recorded: "application/json", sending: "text/plain")
        var notes: [String] = []
        await cassette.reportFailedTest(shown: []) {
            Issue.record($0)
        } noting: {
            notes.append($0)
        }
        #expect(notes.count == 1 && notes.first?.contains("and has text/plain now") == true, "\(notes)")
    }
}
