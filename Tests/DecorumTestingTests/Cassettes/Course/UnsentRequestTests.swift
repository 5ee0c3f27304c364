import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// The requests that a layer sent when a test was recorded, and that are not sent in replay.
@Suite struct UnsentRequestTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// Records exchanges, plays some of them, and returns the notes of the failed test.
    private func notes(
        _ exchanges: [(request: Request, answer: (status: Int, fields: HTTPFields))],
        rules: CassetteRules = CassetteRules(),
        replaying places: [Int] = [0]
    ) async throws -> [String] {
        let cassette = try recorder.cassette(.once, rules: rules)
        for (request, answer) in exchanges {
            let stub = StubConnection { _ in Response(status: .init(code: answer.status), fields: answer.fields) }
            _ = try await CassetteConnection(cassette, recording: stub).send(request)
        }
        try await cassette.finish()
        let replayed = try recorder.cassette(.replay, rules: rules)
        for place in places { _ = try await CassetteConnection(replayed).send(exchanges[place].request) }
        var notes: [String] = []
        await replayed.reportFailedTest(shown: []) {
            Issue.record($0)
        } noting: {
            notes.append($0)
        }
        return notes
    }

    private func get(_ path: String, fields: HTTPFields = [:]) throws -> Request {
        try .get("https://example.com\(path)", fields: fields)
    }

    @Test func `A redirection that is not followed is told with the layer`() async throws {
        let notes = try await notes([
            (get("/latest"), (302, [.location: "/items/1"])), (get("/items/1"), (200, [:])),
        ])
        let note = try #require(notes.first)
        #expect(notes.count == 1)
        #expect(
            note.contains(
                "\n  after 302 to GET https://example.com/latest (line 4): GET https://example.com/items/1 (line "),
            "\(note)")
        #expect(
            note.hasSuffix(
                "), which `followingRedirects` sends\nfix: if the test did not end before, put the layer back into the stack, or "
                    + "move it outside of one that hides the answer from it, such as `validatingStatus`, which turns a status into an "
                    + "error"), "\(note)")
    }

    @Test(arguments: [(503, "retrying"), (401, "authenticating")]) func `A request that is not sent again is told`(
        status: Int, layer: String
    ) async throws {
        let notes = try await notes([(get("/a"), (status, [:])), (get("/a"), (200, [:]))])
        #expect(notes.first?.contains(", which `\(layer)` sends") == true, "\(notes)")
    }

    @Test func `A token that was not asked for is told with the request that was not sent again`() async throws {
        try recorder.folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "POST", "url": "https://example.com/login"},
            "response": {"status": 200, "json": {"access_token": "Redacted2AAAAAAAAAAA"}}},
            {"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 401}},
            {"request": {"method": "POST", "url": "https://example.com/token"},
            "response": {"status": 200, "json": {"access_token": "Redacted1AAAAAAAAAAA"}}},
            {"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 200}}]}
            """, to: "feed.json")
        let cassette = try recorder.cassette(.replay)
        _ = try await CassetteConnection(cassette).send(get("/a"))
        let note = try #require(cassette.noteOfUnsentRequests(cassette.unsentRequests))
        #expect(
            note.contains(
                ": POST https://example.com/token (line 5), which asks for a token, and GET https://example.com/a (line 7), "
                    + "which `authenticating` sends\n"), "\(note)")
        #expect(
            note.hasSuffix("; if the layer is there, find out why the source of its tokens asks for none"), "\(note)")
    }

    @Test func `A layer that turns a status into an error does not hide a failure of the connection`() async throws {
        try recorder.folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://example.com/a"}, "error": {"kind": "connectionRefused", "after": "connect"}},
            {"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 200}}]}
            """, to: "feed.json")
        let cassette = try recorder.cassette(.replay)
        await #expect(throws: TransportError.self) { try await CassetteConnection(cassette).send(get("/a")) }
        let note = try #require(cassette.noteOfUnsentRequests(cassette.unsentRequests))
        #expect(
            note.hasSuffix(
                "which `retrying` sends\nfix: if the test did not end before, put the layer back into the "
                    + "stack, or move it outside of one that hides the answer from it"), "\(note)")
    }

    @Test func `A request with other content or another matched field is no repeat`() async throws {
        func post(_ text: String) throws -> Request { try .post("https://example.com/a", body: Body(text)) }
        let failed: (status: Int, fields: HTTPFields) = (503, [:])
        #expect(try await notes([(post("one"), failed), (post("two"), (200, [:]))]).isEmpty)
        try FileManager.default.removeItem(atPath: recorder.folder.path("feed.json"))
        let told = try await notes([(post("one"), failed), (post("two"), (200, [:])), (post("one"), (200, [:]))])
        #expect(told.count == 1 && told.first?.contains(", which `retrying` sends") == true, "\(told)")
        try FileManager.default.removeItem(atPath: recorder.folder.path("feed.json"))
        let rules = CassetteRules(matching: [.method, .url, .header(.accept)])
        let other = try get("/a", fields: [.accept: "b/b"])
        #expect(try await notes([(get("/a"), failed), (other, (200, [:]))], rules: rules).isEmpty)
    }

    @Test func `A request that is redirected to an ignored query is told`() async throws {
        let rules = CassetteRules(matching: [.method, .url(ignoring: "ts")])
        let notes = try await notes(
            [(get("/latest"), (302, [.location: "/items?ts=1"])), (get("/items?ts=2"), (200, [:]))], rules: rules)
        #expect(notes.first?.contains(", which `followingRedirects` sends") == true, "\(notes)")
    }

    @Test func `Another order is told beside a request that was not sent again`() async throws {
        func post(_ path: String) throws -> Request { try .post("https://example.com\(path)") }
        let exchanges: [(request: Request, answer: (status: Int, fields: HTTPFields))] = try [
            (get("/a"), (503, [:])), (get("/a"), (200, [:])), (post("/new"), (200, [:])), (get("/b"), (200, [:])),
        ]
        let notes = try await notes(exchanges, replaying: [0, 3, 2])
        try #require(notes.count == 2, "\(notes)")
        #expect(notes[0].contains(", which `retrying` sends"), "\(notes)")
        #expect(notes[1].hasPrefix("Request 2, GET https://example.com/b, was recorded behind POST "), "\(notes)")
        #expect(notes[1].contains("), and now comes before it, so "), "\(notes)")
        try FileManager.default.removeItem(atPath: recorder.folder.path("feed.json"))
        let ended = try await self.notes(exchanges, replaying: [0, 1, 3])
        #expect(ended.count == 1 && ended.first?.contains("), which was not sent, so its recorded") == true, "\(ended)")
    }

    @Test func `Each answer finds its own repeat`() async throws {
        let failed: (status: Int, fields: HTTPFields) = (503, [:])
        let exchanges: [(request: Request, answer: (status: Int, fields: HTTPFields))] = try [
            (get("/a"), failed), (get("/b"), failed), (get("/b"), (200, [:])), (get("/a"), (200, [:])),
        ]
        let notes = try await notes(exchanges, replaying: [0, 1])
        let note = try #require(notes.first)
        let lines = note.split(separator: "\n").filter { $0.hasPrefix("  after 503 to GET https://example.com/") }
        #expect(lines.count == 2, "\(note)")
        #expect(lines.first?.contains("/a (line 4): GET https://example.com/a (line ") == true, "\(note)")
        #expect(lines.last?.contains("): GET https://example.com/b (line ") == true, "\(note)")
    }

    @Test func `The keys of the requests grow with their number alone`() async throws {
        let count = Mutex(0)
        let probe = MatchingRule("probe") { _ in
            count.withLock { $0 += 1 }
            return ""
        }
        let rules = CassetteRules(matching: [probe, .method, .url])
        let cassette = try recorder.cassette(.once, rules: rules)
        let failing = StubConnection { _ in Response(status: .serviceUnavailable) }
        for path in (0..<60).map({ "/\($0)" }) {
            _ = try await CassetteConnection(cassette, recording: failing).send(get(path))
        }
        try await cassette.finish()
        let replayed = try recorder.cassette(.replay, rules: rules)
        for path in (0..<30).map({ "/\($0)" }) { _ = try await CassetteConnection(replayed).send(get(path)) }
        let before = count.withLock { $0 }
        #expect(replayed.unsentRequests.isEmpty)
        // One for each of the thirty failures, and for each of the thirty requests that are left.
        #expect(count.withLock { $0 } - before == 60)
    }

    @Test func `Requests that the test sends by itself are not told`() async throws {
        #expect(try await notes([(get("/a"), (200, [.location: "/b"])), (get("/b"), (200, [:]))]).isEmpty)
        try FileManager.default.removeItem(atPath: recorder.folder.path("feed.json"))
        #expect(try await notes([(get("/a"), (404, [:])), (get("/a"), (200, [:]))]).isEmpty)
    }

    @Test(
        arguments: [
            (["If-None-Match": "\"1\""], [:], "was recorded with `If-None-Match`, and has none now"),
            (["Accept": "a/b"], ["If-Match": "\"1\""], "was recorded without `If-Match`, and has it now"),
            (
                ["Last-Event-ID": "3"], ["Last-Event-ID": "2"],
                "has another value of `Last-Event-ID` than it was recorded with"
            ),
            (["If-None-Match": "\"1\""], ["If-None-Match": "\"2\""], nil), (["Accept": "a/b"], [:], nil),
            ([:], ["If-Match": "\"1\""], nil),
        ] as [([String: String], [String: String], String?)])
    func `Another condition is told where a test passes`(
        recorded: [String: String], sent: [String: String], words: String?
    ) async throws {
        func fields(_ values: [String: String]) -> HTTPFields {
            values.reduce(into: [:]) { fields, pair in
                HTTPField.Name(pair.key).map { fields[$0] = pair.value }
            }
        }
        _ = try await recorder.run(.once, [get("/a", fields: fields(recorded))]) { _ in Response(status: .ok) }
        let cassette = try recorder.cassette(.replay)
        _ = try await CassetteConnection(cassette).send(get("/a", fields: fields(sent)))
        try await cassette.finish()
        let notes = cassette.notesOfPassedTest
        guard let words else { return #expect(notes.isEmpty, "\(notes)") }
        #expect(notes.count == 1)
        #expect(notes.first?.contains("\n  GET https://example.com/a (line 4) \(words)\nfix: ") == true, "\(notes)")
    }
}
