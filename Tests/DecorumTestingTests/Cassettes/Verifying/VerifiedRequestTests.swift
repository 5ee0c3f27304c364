import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The recordings that verifying finds for the requests of a run, in whatever order they come.
@Suite(.timeLimit(.minutes(3))) struct VerifiedRequestTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// A server at an address of numbers, whose items have identifiers of a run, a price and a date.
    private func server(_ run: String, day: Int) -> StubConnection {
        let prices = Mutex<[String: Int]>([:])
        return StubConnection { request in
            let path = request.head.path ?? ""
            let isNew = request.head.method == .post
            let name = isNew ? "\(run)-\(prices.withLock { $0.count })" : String(path.dropFirst("/items/".count))
            let price = prices.withLock { prices in
                prices[name, default: 0] += request.head.method == .get ? 0 : 1
                return prices[name, default: 0]
            }
            return TestRecorder.json(#"{"uuid":"\#(name)","price":\#(price),"changed":"2026-11-0\#(day + price)"}"#)
        }
    }

    private func run(_ mode: CassetteMode, _ run: String, day: Int, readingFirst: Bool) async throws {
        let cassette = try recorder.cassette(mode)
        let connection = CassetteConnection(cassette, recording: server(run, day: day))
        let base = "http://127.0.0.1:8080/items"
        for _ in 0..<2 { _ = try await connection.send(.post(base, body: "{}")) }
        let items = (0..<2).map { "\(base)/\(run)-\($0)" }
        if readingFirst { _ = try await connection.send(.get(items[0])) }
        let price = Body(#"{"price":2}"#)
        _ = try await connection.send(
            .patch(items[0], fields: [.contentType: "application/json"], body: price))
        if !readingFirst { _ = try await connection.send(.get(items[0])) }
        for item in items { _ = try await connection.send(.delete(item)) }
        try await cassette.finish()
    }

    @Test func `Requests in another order are the recorded ones`() async throws {
        try await run(.once, "a1b2c3d4", day: 1, readingFirst: false)
        try await run(.verify, "e5f6a7b8", day: 1, readingFirst: false)
        try await run(.verify, "e5f6a7b8", day: 4, readingFirst: true)
    }

    @Test(arguments: [("page", false), ("itemId", true), ("orderNumber", true), ("self", true)])
    func `A short value is an identifier only where its place says so`(name: String, isIdentifier: Bool) async throws {
        @Sendable func value(_ number: Int) -> String { name == "self" ? #""/items/\#(number)""# : "\(number)" }
        func requests(_ number: Int) throws -> [Request] {
            try ["/latest", "/items?after=\(number)"].map { try .get("https://example.com" + $0) }
        }
        _ = try await recorder.run(.once, requests(17)) { _ in TestRecorder.json(#"{"\#(name)":\#(value(17))}"#) }
        let live: @Sendable (Request) -> Response = { _ in TestRecorder.json(#"{"\#(name)":\#(value(23))}"#) }
        guard !isIdentifier else {
            _ = try await recorder.run(.verify, requests(23), answer: live)
            return
        }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests(23), answer: live)
        }
        #expect(error?.drifts.map(\.changes.first) == ["is sent in place of GET https://example.com/items?after=17"])
    }

    @Test func `A request without a recording is told with the nearest one and the answer that led to it`() async throws
    {
        let first = try Request.get("https://example.com/start")
        _ = try await recorder.run(.once, [first, .get("https://example.com/items?page=1")]) { _ in
            TestRecorder.json("{}")
        }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, [first, .get("https://example.com/v2/items?page=1")]) { request in
                request.head.path == "/start"
                    ? Response(
                        status: .ok, fields: [.contentType: "application/json", .location: "/v2/items?page=1"],
                        body: "{}")
                    : TestRecorder.json("{}")
            }
        }
        let line = try #require(
            recorder.folder.text("feed.json").split(separator: "\n").firstIndex { $0.contains("page=1") })
        #expect(
            error?.drifts.first?.changes == [
                "is sent in place of GET https://example.com/items?page=1", "url  differs",
                "  https://example.com/items?page=1  →  https://example.com/v2/items?page=1",
                "the `Location` in the answer to GET https://example.com/start led there",
            ])
        #expect(error?.drifts.map(\.line) == [line - 2])
        #expect(error?.description.hasPrefix("The server no longer answers") == true)
    }

    /// Records some requests, verifies others, and returns the text of the differences.
    private func drift(
        _ recorded: [Request], _ live: [Request], rules: CassetteRules = CassetteRules()
    ) async throws -> String {
        let answer: @Sendable (Request) -> Response = { _ in TestRecorder.json("{}") }
        _ = try await recorder.run(.once, recorded, rules: rules, answer: answer)
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, live, rules: rules, answer: answer)
        }
        return try #require(error).description.replacing(recorder.folder.url.path + "/", with: "")
    }

    private func get(_ paths: String...) throws -> [Request] {
        try paths.map { try .get("https://example.com" + $0) }
    }

    private func post(_ title: String) throws -> Request {
        try .post("https://example.com/items", fields: [.contentType: "application/json"], body: Body(title))
    }

    @Test func `A request that is sent in place of a recorded one is told once, with the lines of a miss`() async throws
    {
        let text = try await drift(get("/me", "/search?q=ap"), get("/me", "/find?q=ap"))
        #expect(
            text == """
                The test no longer sends the requests of the cassette feed.json:
                  GET https://example.com/find?q=ap  (line 18)
                    is sent in place of GET https://example.com/search?q=ap
                    url  differs
                      https://example.com/search?q=ap  →  https://example.com/find?q=ap
                fix: change the code that sends the requests; if the change is meant, `CASSETTE=rewrite swift test` records \
                the test anew
                """)
    }

    @Test func `The answer to a request in place of a recorded one is compared too, where both succeed`() async throws {
        _ = try await recorder.run(.once, get("/v1/me")) { _ in TestRecorder.json(#"{"login":"ada"}"#) }
        for isFailing in [false, true] {
            let error = await #expect(throws: CassetteDriftError.self) {
                try await recorder.run(.verify, get("/v2/me")) { _ in
                    isFailing ? Response(status: .notFound) : TestRecorder.json(#"{"user":"ada"}"#)
                }
            }
            let text = try #require(error).description
            #expect(text.contains("is sent in place of GET https://example.com/v1/me"), "\(text)")
            let answer = "\n    answer  $.login  is missing: was a string\n    answer  $.user  is new: a string\nfix"
            #expect(text.contains(answer) != isFailing && text.contains("answer  ") != isFailing, "\(text)")
        }
    }

    @Test func `Another content of a request is shown`() async throws {
        let text = try await drift([post(#"{"title":"fig"}"#)], [post(#"{"name":"fig"}"#)])
        #expect(text.contains("\n    is sent in place of the recorded one\n    body  differs\n      $."), "\(text)")
        #expect(!text.contains("no longer requested"), "\(text)")
    }

    @Test func `Requests in another order are told as such where the rules ask for the order`() async throws {
        let text = try await drift(
            [post("{}")] + get("/search"), get("/search") + [post("{}")], rules: CassetteRules(order: .strict))
        #expect(
            text.contains(
                "GET https://example.com/search  (line 22)\n    comes out of order (the rules ask for `.strict`); the next "
                    + "one in order is POST https://example.com/items (line 4)\nfix"), "\(text)")
    }

    @Test func `A request that is sent more often than it is recorded, or was not recorded, is told as such`()
        async throws
    {
        let text = try await drift(get("/me", "/a", "/a"), get("/me", "/me", "/a", "/a", "/a", "/new"))
        #expect(
            text.contains(
                """
                  GET https://example.com/me  (line 4)
                    is recorded once by this test, and sent once more
                  GET https://example.com/a  (line 18)
                    is recorded 2 times by this test, and sent once more
                  GET https://example.com/new
                    is not recorded; no recording of this test has its path
                """), "\(text)")
        #expect(text.hasPrefix("The test sends requests that the cassette feed.json does not have:\n"), "\(text)")
    }
}
