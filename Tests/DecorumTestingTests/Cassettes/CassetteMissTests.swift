import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct CassetteMissTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(
            """
            {
              "cassette": 1,
              "interactions": [
                {
                  "request": { "method": "GET", "url": "https://api.example.com/feed" },
                  "response": { "status": 200, "text": "news" }
                },
                {
                  "request": {
                    "method": "POST",
                    "url": "https://api.example.com/search?lang=de",
                    "headers": { "Content-Type": "application/json" },
                    "json": { "q": "Käse", "page": 1, "token": "__token-1__" }
                  },
                  "response": { "status": 204 }
                }
              ]
            }
            """, to: "feed.json")
    }

    func miss(_ request: Request, rules: CassetteRules = CassetteRules(), after played: [Request] = []) async throws
        -> String
    {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules)
        let connection = CassetteConnection(cassette)
        for request in played { _ = try await connection.send(request) }
        let error = await #expect(throws: CassetteMissError.self) { try await connection.send(request) }
        return (error?.description ?? "").replacing(folder.url.path + "/", with: "")
    }

    @Test func `A miss shows what is nearest and where it differs`() async throws {
        let request = try Request.post(
            "https://api.example.com/search?lang=de", fields: [.contentType: "application/json"],
            body: #"{"q":"Käse","page":2,"token":"s3cr3t-value"}"#)
        #expect(
            try await miss(request) == """
                No recording matches request 1.
                  POST https://api.example.com/search?lang=de
                closest: interaction 2, never played, 2 of 3 rules agree
                  method  same
                  url  same
                  body  differs
                    $.page  1  →  2
                fix: CASSETTE=append records it, CASSETTE=rewrite records everything anew
                file: feed.json:8
                """)
    }

    @Test func `A miss by the URL shows the items that differ`() async throws {
        let text = try await miss(
            .post(
                "https://api.example.com/search?lang=en&access_token=s3cr3t-value",
                fields: [.contentType: "application/json"], body: #"{"q":"Käse","page":1,"token":"x"}"#))
        #expect(text.contains("recorded  lang=de"))
        #expect(text.contains("now       lang=en"))
        #expect(!text.contains("s3cr3t"))
    }

    @Test func `A repeat tells of the one that is played`() async throws {
        let request = try Request.get("https://api.example.com/feed")
        let text = try await miss(request, after: [request])
        #expect(text.contains("interaction 1 matches, but is already played (repeats: .last"))
    }

    @Test func `A request out of order says so`() async throws {
        let request = try Request.post(
            "https://api.example.com/search?lang=de", body: #"{"token":"x","q":"Käse","page":1}"#)
        let text = try await miss(request, rules: CassetteRules(order: .strict))
        #expect(text.contains("interaction 2 matches, but is not the next one"))
    }

    @Test func `What was never played fails the run`() async throws {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay)
        _ = try await CassetteConnection(cassette).send(.get("https://api.example.com/feed"))
        let error = #expect(throws: UnusedInteractionsError.self) { try cassette.finish() }
        #expect(error?.requests == ["POST https://api.example.com/search?lang=de"])
        #expect(cassette.unplayed == [1])

        let tolerant = try Cassette(
            at: folder.path("feed.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        try tolerant.finish()
    }

    @Test func `A cancelled request stays waiting until it is cancelled`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/"},
            "error": {"kind": "cancelled", "after": "head"}}]}
            """, to: "cancelled.json")
        let connection = CassetteConnection(try Cassette(at: folder.path("cancelled.json"), mode: .replay))
        let task = Task { try await connection.send(.get("https://example.com/")) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
