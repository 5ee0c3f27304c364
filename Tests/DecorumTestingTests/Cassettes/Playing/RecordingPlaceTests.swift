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

    @Test func `An interaction that was never played is told with the played one that it equals`() async throws {
        let folder = try TemporaryFolder()
        func interaction(_ text: String, day: Int) -> String {
            #"{"request": {"method": "GET", "url": "https://a.example/"}, "response": {"status": 200, "text": "\#(text)"},"#
                + #" "at": "2026-01-0\#(day)"}"#
        }
        let list = [interaction("a", day: 1), interaction("a", day: 2), interaction("b", day: 1)]
        try folder.write(#"{"cassette": 1, "interactions": [\#(list.joined(separator: ",\n"))]}"#, to: "feed.json")
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay)
        _ = try await CassetteConnection(cassette).send(.get("https://a.example/"))
        let error = await #expect(throws: UnusedInteractionsError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(
            text.contains(
                "  GET https://a.example/  (line 2, equals interaction 1, which was played)\n"
                    + "  GET https://a.example/  (line 3)\n"), "\(text)")
        #expect(text.contains("\nfix: find out why the requests are not sent; "), "\(text)")

        try folder.write(#"{"cassette": 1, "interactions": [\#(list[..<2].joined(separator: ",\n"))]}"#, to: "two.json")
        let copied = try Cassette(at: folder.path("two.json"), mode: .replay)
        _ = try await CassetteConnection(copied).send(.get("https://a.example/"))
        let fault = await #expect(throws: UnusedInteractionsError.self) { try await copied.finish() }
        #expect(
            try #require(fault).description.contains(
                "\nfix: if the file was edited, delete the copy, or restore the file; else find out why "))
    }
}
