#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// `CASSETTE=explain` alone prints explanations on standard error, without a rule of the test.
@Suite(.timeLimit(.minutes(3))) struct PrintedExplanationTests {
    let folder = TemporaryFolder()

    init() throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://api.example.com/items?page=1"},
            "response": {"status": 200, "text": "answer"}}]}
            """, to: "feed.json")
    }

    /// The text on standard error of a process that has a value of `CASSETTE`, and sends two requests to a cassette: one
    /// that is recorded, and one that is not and holds a secret.
    ///
    /// The environment belongs to the whole process, so no other test may be in it.
    private func printed(with value: String, at path: String) async throws -> String {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [value, path] in
            ProcessTests.begin()
            unsafe setenv("CASSETTE", value, 1)
            let cassette = try Cassette(at: path)
            #expect(cassette.mode == .replay)
            let connection = CassetteConnection(cassette)
            let answer = try await connection.send(.get("https://api.example.com/items?page=1"))
            #expect(try await answer.body.text(upTo: 100) == "answer")
            await #expect(throws: CassetteMissError.self) {
                try await connection.send(.get("https://api.example.com/items?page=2&access_token=h1dden-value-1"))
            }
        }
        let content = try #require(result).standardErrorContent
        return String(decoding: content, as: UTF8.self).replacing(folder.url.path + "/", with: "")
    }

    @Test func `The variable alone explains an answered request in a line, and a miss with the nearest recording`()
        async throws
    {
        let text = try await printed(with: "explain", at: folder.path("feed.json"))
        #expect(
            text.contains(
                "feed.json, request 1  GET https://api.example.com/items?page=1  →  interaction 1 (line 2)\n"),
            "\(text)")
        let miss = "feed.json, request 2\n  GET https://api.example.com/items?page=2&access_token="
        #expect(text.contains(miss), "\(text)")
        let reason = "not by interaction 1 (line 2): it agrees in 2 of 3 rules\n    url  differs\n"
        #expect(text.contains("\n  answered by no recording\n  \(reason)"), "\(text)")
        #expect(!text.contains("h1dden"), "\(text)")
    }
}
#endif
