import Decorum
import DecorumTesting
import Testing

/// An error about an answer that was played names the recording, which may have been edited.
@Suite struct RecordingPlaceTests {
    @Test func `The errors of a status and of content name the file and the line of the recording`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 404}},
            {"request": {"method": "GET", "url": "https://example.com/b"}, "response": {"status": 200, "json": []}}]}
            """, to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay)
        let connection = CassetteConnection(cassette).validatingStatus()
        let status = await #expect(throws: StatusError.self) {
            try await connection.send(.get("https://example.com/a"))
        }
        let start = "It was played from \(folder.path("a.json")):"
        #expect(status?.description.contains(start + "2; `CASSETTE=verify` checks") == true)
        let response = try await connection.send(.get("https://example.com/b"))
        let content = await #expect(throws: ResponseDecodingError.self) {
            try await response.decode([String: Int].self, upTo: 100)
        }
        #expect(content?.description.contains(start + "3; ") == true)
    }
}
