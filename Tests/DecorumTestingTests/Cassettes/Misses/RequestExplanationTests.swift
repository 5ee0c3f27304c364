import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// `CASSETTE=explain` tells for each request which recording answered it, and why the others did not.
@Suite struct RequestExplanationTests {
    let folder = TemporaryFolder()

    /// A cassette of requests: a method, a URL and content that is JSON.
    private func write(_ requests: [(method: String, url: String, json: String?)], to name: String) throws {
        let interactions = requests.map { method, url, json in
            let content = json.map { #", "headers": {"Content-Type": "application/json"}, "json": \#($0)"# } ?? ""
            return """
                {"request": {"method": "\(method)", "url": "https://api.example.com\(url)"\(content)},
                "response": {"status": 200, "text": "answer"}}
                """
        }
        let list = interactions.joined(separator: ",\n")
        try folder.write(#"{"cassette": 1, "interactions": [\#n\#(list)]}"#, to: name)
    }

    private func explanations(
        of name: String, mode: CassetteMode = .replay, rules: CassetteRules = CassetteRules(),
        _ body: (CassetteConnection) async throws -> Void
    ) async throws -> [RequestExplanation] {
        let explanations = Mutex<[RequestExplanation]>([])
        var rules = rules
        rules.reportExplanations = { explanation in explanations.withLock { $0.append(explanation) } }
        let cassette = try Cassette(at: folder.path(name), mode: mode, rules: rules)
        try await body(CassetteConnection(cassette, recording: StubConnection(Response(status: .ok))))
        return explanations.withLock { $0 }
    }

    private func search(_ json: String, path: String = "/search") throws -> Request {
        try .post(
            "https://api.example.com\(path)", fields: [.contentType: "application/json"], body: Body(Data(json.utf8)))
    }

    @Test func `An explanation shows the recording that answered and the nearest others with reasons`() async throws {
        try write(
            [
                ("GET", "/other", nil), ("POST", "/search", #"{"q":"a","page":1}"#),
                ("POST", "/search", #"{"q":"a","page":2}"#), ("POST", "/search", #"{"q":"a","page":2}"#),
                ("POST", "/search", #"{"q":"b","page":3}"#),
            ], to: "feed.json")
        let found = try await explanations(of: "feed.json") { connection in
            _ = try await connection.send(search(#"{"page":2,"q":"a"}"#))
        }
        let text = try #require(found.first).details.replacing(folder.url.path + "/", with: "")
        let line =
            "feed.json, request 1  POST https://api.example.com/search  →  interaction 3 (line 6)\n  not by interaction 4"
        #expect("\(found[0])".replacing(folder.url.path + "/", with: "").hasPrefix(line))
        #expect(
            text == """
                feed.json, request 1
                  POST https://api.example.com/search
                  answered by interaction 3 (line 6)
                  not by interaction 4 (line 8): it matches, and comes later in the file
                  not by interaction 2 (line 4): it agrees in 2 of 3 rules
                    body  differs
                      $.page  1  →  2
                  not by interaction 5 (line 10): it agrees in 2 of 3 rules
                    body  differs
                      $.q  "b"  →  "a"
                      $.page  3  →  2
                  not by interaction 1 (line 2): it agrees in 0 of 3 rules
                    method  differs
                      GET  →  POST
                    url  differs
                      https://api.example.com/other  →  https://api.example.com/search
                    body  differs
                """)
    }

    @Test func `The reasons tell a played recording, one out of order and one that is recorded again`() async throws {
        try write([("GET", "/a", nil), ("GET", "/a", nil), ("GET", "/b", nil)], to: "feed.json")
        let played = try await explanations(of: "feed.json", rules: CassetteRules(repeats: .last)) { connection in
            for _ in 0..<3 { _ = try await connection.send(.get("https://api.example.com/a")) }
        }
        #expect(played.map(\.outcome) == [.answered(by: 1), .answered(by: 2), .answered(by: 2)])
        #expect(played[0].others.first?.reason == "matches, and comes later in the file")
        #expect(played[1].others.first?.reason == "matches, and is already played")
        #expect(played[2].others.first?.number == 1)

        let strict = try await explanations(of: "feed.json", rules: CassetteRules(order: .strict)) { connection in
            _ = try? await connection.send(.get("https://api.example.com/b"))
        }
        #expect(strict.first?.outcome == .missed)
        #expect(strict.first?.others.first?.number == 3)
        #expect(strict.first?.others.first?.reason.hasPrefix("matches, and is not the next one in order") == true)

        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://api.example.com/a"},
            "response": {"status": 200, "text": "answ"}, "error": {"kind": "abandoned", "after": "body"}}]}
            """, to: "cut.json")
        let cut = try await explanations(of: "cut.json", mode: .append) { connection in
            _ = try await connection.send(.get("https://api.example.com/a"))
        }
        #expect(cut.first?.outcome == .sent)
        #expect(cut.first?.others.first?.reason == "matches, and is to be recorded again")
    }

    @Test func `An explanation is bounded, and the nearest of many come first`() async throws {
        try write((0..<2000).map { ("GET", "/items/\($0)", nil) } + [("GET", "/items/7?page=1", nil)], to: "many.json")
        let found = try await explanations(of: "many.json") { connection in
            _ = try await connection.send(.get("https://api.example.com/items/1234"))
            _ = try? await connection.send(.get("https://api.example.com/items/7?page=2"))
        }
        #expect(found[0].outcome == .answered(by: 1235))
        #expect(found[0].others.count == 5)
        // Another value is a smaller difference than an item in addition.
        #expect(found[1].others.prefix(2).map(\.number) == [2001, 8])
        #expect(found[1].others[0].differences == ["url  differs", "  recorded  page=1", "  now       page=2"])
        #expect(found[1].others[1].differences == ["url  differs", #"  query     now has "page=2" in addition"#])
    }
}
