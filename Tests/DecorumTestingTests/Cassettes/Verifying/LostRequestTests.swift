import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The requests that a verified test does not send because an earlier answer no longer leads to them.
@Suite(.timeLimit(.minutes(3))) struct LostRequestTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// Reads three pages by their links; the first answer is another one where it is given.
    private func readPages(
        _ mode: CassetteMode, first: Response? = nil, link: String = "Link", count: Int = 3
    ) async throws {
        let name = try #require(HTTPField.Name(link))
        let stub = StubConnection { request in
            let page = Int(String(request.head.path?.last ?? "1")) ?? 1
            if page == 1, let first { return first }
            var fields: HTTPFields = [.contentType: "application/json"]
            if page < count { fields[name] = "</items?page=\(page + 1)>; rel=\"next\"" }
            if page > 1 { fields[name] = (fields[name].map { $0 + ", " } ?? "") + "</items?page=1>; rel=\"first\"" }
            return Response(status: .ok, fields: fields, body: "[]")
        }
        let cassette = try recorder.cassette(mode)
        let connection = CassetteConnection(cassette, recording: stub)
        var url: String? = "https://example.com/items?page=1"
        while let page = url {
            let response = try await connection.send(.get(page))
            url = response.linkReference("next").map { "https://example.com" + $0 }
        }
        try await cassette.finish()
    }

    private func text(of body: () async throws -> Void) async throws -> String {
        let error = await #expect(throws: CassetteDriftError.self) { try await body() }
        return try #require(error).description.replacing(recorder.folder.url.path + "/", with: "")
    }

    @Test func `A missing link to the next page is told first, with the pages that were not asked for`() async throws {
        try await readPages(.once)
        try await readPages(.verify)
        let text = try await text { try await readPages(.verify, first: TestRecorder.json("[]")) }
        #expect(
            text == """
                The server no longer answers as the cassette feed.json has it:
                  GET https://example.com/items?page=1  (line 4)
                    field `Link`  is missing: was </items?page=2>; rel="next"
                    likely the reason why these recorded requests were not sent:
                      GET https://example.com/items?page=2 (line 19)
                      GET https://example.com/items?page=3 (line 34)
                fix: mend the server; if the change is meant, look whether the code that reads the answer has to change, then \
                `CASSETTE=rewrite swift test` records the test anew
                """)
    }

    @Test func `A page to which the server leads in addition is told with the answer that names it`() async throws {
        try await readPages(.once)
        let text = try await text { try await readPages(.verify, count: 5) }
        #expect(
            text == """
                The server no longer answers as the cassette feed.json has it:
                  GET https://example.com/items?page=4
                    is not recorded; nearest is GET https://example.com/items?page=3 (line 34)
                    url  differs
                      recorded  page=3
                      now       page=4
                    the `Link` in the answer to GET https://example.com/items?page=3 led there
                  GET https://example.com/items?page=5
                    is not recorded; nearest is GET https://example.com/items?page=3 (line 34)
                    url  differs
                      recorded  page=3
                      now       page=5
                    the `Link` in the answer to GET https://example.com/items?page=4 led there
                fix: if the change is meant, look whether the code that reads the answer has to change, then \
                `CASSETTE=rewrite swift test` records the test anew
                """)
    }

    @Test func `A word of the content does not stand for the link that is missing`() async throws {
        func run(_ mode: CassetteMode, hasLink: Bool) async throws {
            let name = try #require(HTTPField.Name("Link"))
            let stub = StubConnection { request in
                var response = TestRecorder.json(#"{"filter":"active","items":[{"state":"active"}]}"#)
                if hasLink, request.head.path?.hasSuffix("page=1") == true {
                    response.head.headerFields[name] = "</items?state=active&page=2>; rel=next"
                }
                return response
            }
            let cassette = try recorder.cassette(mode)
            let connection = CassetteConnection(cassette, recording: stub)
            _ = try await connection.send(.get("https://example.com/items?state=active&page=1"))
            if hasLink { _ = try await connection.send(.get("https://example.com/items?state=active&page=2")) }
            try await cassette.finish()
        }
        try await run(.once, hasLink: true)
        let text = try await text { try await run(.verify, hasLink: false) }
        #expect(text.contains("field `Link`  is missing: was </items?state=active&page=2>"), "\(text)")
    }

    @Test func `A field of links without the next page is told as such`() async throws {
        try await readPages(.once)
        let first = Response(
            status: .ok,
            fields: [
                .contentType: "application/json",
                try #require(HTTPField.Name("Link")): "</items?page=3>; rel=\"last\"",
            ], body: "[]")
        let text = try await text { try await readPages(.verify, first: first) }
        #expect(
            text.contains("\n    field `Link`  has no rel=\"next\" any more: was </items?page=2>; rel=\"next\"\n"),
            "\(text)")
    }

    @Test func `A link to another origin is told with the requests that were not sent for it`() async throws {
        try await readPages(.once)
        let first = Response(
            status: .ok,
            fields: [
                .contentType: "application/json",
                try #require(HTTPField.Name("Link")): "<http://localhost:8765/items?page=2>; rel=\"next\"",
            ], body: "[]")
        let text = try await text {
            _ = try await recorder.run(.verify, [.get("https://example.com/items?page=1")]) { _ in first }
        }
        #expect(
            text.contains(
                """
                    field `Link`  leads to another origin, which a client may refuse: was </items?page=2>; rel="next", is \
                <http://localhost:8765/items?page=2>; rel="next"
                    likely the reason why these recorded requests were not sent:
                """), "\(text)")
    }

    @Test func `A request that the test leaves out although the answer leads there is one of the test`() async throws {
        let requests = try ["/items?page=1", "/items?page=2"].map { try Request.get("https://example.com" + $0) }
        let answer: @Sendable (Request) -> Response = { _ in
            var response = TestRecorder.json("[]")
            if let name = HTTPField.Name("Link") { response.head.headerFields[name] = "</items?page=2>; rel=next" }
            return response
        }
        _ = try await recorder.run(.once, requests, answer: answer)
        let text = try await text {
            _ = try await recorder.run(.verify, [requests[0]], answer: answer)
        }
        #expect(text.contains("\n    is recorded, and no longer requested\n"), "\(text)")
        #expect(!text.contains("likely"), "\(text)")
    }

    @Test func `A redirection that fails tells the requests that it led to`() async throws {
        func run(_ mode: CassetteMode, _ answer: Response) async throws {
            let cassette = try recorder.cassette(mode)
            let connection = CassetteConnection(
                cassette,
                recording: StubConnection { request in
                    request.head.path == "/old" ? answer : TestRecorder.json("{}")
                })
            let response = try await connection.send(.get("https://example.com/old"))
            if let path = response.head.headerFields[.location] {
                _ = try await connection.send(.get("https://example.com" + path))
            }
            try await cassette.finish()
        }
        try await run(.once, Response(status: .found, fields: [.location: "/new"], body: ""))
        let page = Response(
            status: .badGateway, fields: [.contentType: "text/html"], body: "<h1>Bad Gateway</h1>")
        let text = try await text { try await run(.verify, page) }
        #expect(
            text == """
                The server failed while its answers were compared with the cassette feed.json:
                  GET https://example.com/old  (line 4)
                    status  was 302, is 502, so the server fails
                    media type  was nothing, is text/html
                    content  <h1>Bad Gateway</h1>
                    likely the reason why this recorded request was not sent:
                      GET https://example.com/new (line 17)
                fix: `CASSETTE=verify swift test` asks the server again when it is well; a new recording would hold its \
                failure
                """)
    }

    @Test func `A secret in a field that is missing is not shown`() async throws {
        try recorder.folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/a"},
            "response": {"status": 200, "headers": {"Location": "/b?password=mango-42&p=1"}}},
            {"request": {"method": "GET", "url": "https://example.com/b?password=mango-42&p=1"}, "response": {"status": 200}}]}
            """, to: "feed.json")
        let text = try await text {
            _ = try await recorder.run(.verify, [.get("https://example.com/a")]) { _ in Response(status: .ok) }
        }
        #expect(text.contains("\n    field `Location`  is missing: was /b?password=__secret__&p=1\n"), "\(text)")
        #expect(!text.contains("mango"), "\(text)")
    }

    @Test func `A server that is down is no change of the API`() async throws {
        let request = try Request.get("https://example.com/items")
        _ = try await recorder.run(.once, [request]) { _ in TestRecorder.json("{}") }
        let cassette = try recorder.cassette(.verify)
        let down = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        await #expect(throws: TransportError.self) {
            try await CassetteConnection(cassette, recording: down).send(request)
        }
        let text = try await text { try await cassette.finish() }
        #expect(text.hasPrefix("The server failed while"), "\(text)")
        #expect(!text.contains("CASSETTE=rewrite"), "\(text)")
    }
}
