import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Verifying compares the requests of a test with the recorded ones, and the answer to each.
@Suite(.timeLimit(.minutes(3))) struct VerificationTests {
    private let recorder = TestRecorder()

    private func get(_ paths: String...) throws -> [Request] {
        try paths.map { try .get("https://example.com" + $0) }
    }

    private func post(_ content: String) throws -> Request {
        try .post("https://example.com/items", fields: [.contentType: "application/json"], body: Body(content))
    }

    /// The changes that verifying finds in some requests, by request.
    private func drifts(
        _ recorded: [Request], _ live: [Request], rules: CassetteRules = CassetteRules(),
        answer: @escaping StubConnection.Answer = { _ in TestRecorder.json("{}") }
    ) async throws -> [CassetteDriftError.Drift] {
        _ = try await recorder.run(.rewrite, recorded, rules: rules) { _ in TestRecorder.json("{}") }
        do {
            _ = try await recorder.run(.verify, live, rules: rules, answer: answer)
            return []
        } catch let error as CassetteDriftError {
            return error.drifts
        }
    }

    @Test func `Another shape is told with its line and the command that records, and the file stays`() async throws {
        let requests = try get("/")
        _ = try await recorder.run(.once, requests) { _ in TestRecorder.json(#"{"id":1,"tags":["a"],"name":"x"}"#) }
        _ = try await recorder.run(.verify, requests) { _ in TestRecorder.json(#"{"id":2,"tags":[],"name":"y"}"#) }
        let before = try recorder.folder.text("feed.json")
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests) { _ in TestRecorder.json(#"{"id":"2","tags":[1],"more":true}"#) }
        }
        #expect(
            error?.description.replacing(recorder.folder.url.path + "/", with: "") == """
                The requests or the answers differ from the cassette feed.json:
                  GET https://example.com/ (line 4)
                    $.id  was a number, is a string
                    $.more  is new: a boolean
                    $.name  is missing: was a string
                    $.tags[*]  was a string, is a number
                fix: mend the server or the code; if the change is meant, `CASSETTE=rewrite swift test` records the test anew
                """)
        #expect(try recorder.folder.text("feed.json") == before)
    }

    @Test func `A request that is not sent is told, unless the rules allow it`() async throws {
        let requests = try get("/a", "/gone")
        let found = try await drifts(requests, [requests[0]])
        #expect(found.map(\.request) == ["GET https://example.com/gone"])
        #expect(found.map(\.changes) == [["is recorded, and not sent"]])
        #expect(try await drifts(requests, [requests[0]], rules: CassetteRules(unused: .allow)).isEmpty)
    }

    @Test func `A request in place of a recorded one is told once, with the lines of a miss`() async throws {
        let found = try await drifts(get("/me", "/search?q=ap"), get("/me", "/find?q=ap"))
        #expect(found.map(\.request) == ["GET https://example.com/find?q=ap"])
        #expect(found.map(\.line) == [18])
        #expect(
            found.map(\.changes) == [
                [
                    "is sent in place of GET https://example.com/search?q=ap", "url  differs",
                    "  https://example.com/search?q=ap  →  https://example.com/find?q=ap",
                ]
            ])
        let content = try await drifts([post(#"{"title":"fig"}"#)], [post(#"{"name":"fig"}"#)])
        #expect(content.first?.changes.dropFirst().first == "body  differs")
    }

    @Test func `A request in addition to the recorded ones is told`() async throws {
        let found = try await drifts(get("/me", "/a", "/a"), get("/me", "/me", "/a", "/a", "/a", "/new"))
        #expect(found.map(\.request) == ["/me", "/a", "/new"].map { "GET https://example.com\($0)" })
        let words = "is sent more often than it is recorded"
        #expect(found.map(\.changes) == [[words], [words], ["is not recorded"]])
    }

    @Test func `The order counts only if the rules ask for it`() async throws {
        let recorded = try [post("{}")] + get("/search")
        #expect(try await drifts(recorded, recorded.reversed()).isEmpty)
        let found = try await drifts(recorded, recorded.reversed(), rules: CassetteRules(order: .strict))
        #expect(found.map(\.changes) == [["comes out of order"]])
    }

    @Test func `A secret in a request is not shown`() async throws {
        let secret = "x7Rq2LmZ9sKd" + "4TbVw8NcYh3J"
        let found = try await drifts(get("/me"), get("/you?access_token=\(secret)"), rules: .silent)
        #expect(!found.isEmpty && !"\(found)".contains("x7Rq2"), "\(found)")
    }

    @Test(arguments: [[101, 102], [102, 103], [102, 101], [7, 8]])
    func `A request is known by an identifier that the server has given in this run`(ids: [Int]) async throws {
        func run(_ mode: CassetteMode, _ ids: [Int]) async throws {
            let cassette = try recorder.cassette(mode)
            let left = Mutex(ids)
            let stub = StubConnection { request in
                guard request.head.method == .post, let id = left.withLock({ $0.isEmpty ? nil : $0.removeFirst() })
                else { return TestRecorder.json(#"{"count":3}"#) }
                return Response(
                    status: .created, fields: [.contentType: "application/json", .location: "/items/\(id)"],
                    body: Body(#"{"id":\#(id)}"#))
            }
            let connection = CassetteConnection(cassette, recording: stub)
            for _ in ids { _ = try await connection.send(.post("https://example.com/items", body: "{}")) }
            for id in ids {
                _ = try await connection.send(.delete("https://example.com/items/\(id)"))
                _ = try await connection.send(.get("https://example.com/log?item=\(id)"))
                _ = try await connection.send(
                    .put(
                        "https://example.com/last", fields: [.contentType: "application/json"],
                        body: Body(#"{"last":\#(id)}"#)))
            }
            try await cassette.finish()
        }
        try await run(.once, [101, 102])
        try await run(.verify, ids)
    }

    @Test(arguments: [
        (#"{"id":"§"}"#, "pat_zwzlbakqrt", "kJhGfDsAqW"), (#"{"next":{"cursor":"§"}}"#, "A1b2C3d4", "kJhGfDsA"),
        (#"{"self":"/items/§"}"#, "17", "23"), (#"[{"uuid":"§"}]"#, "a1-b2", "e5-f6"),
    ])
    func `A value of an answer may be of any form`(content: String, recorded: String, live: String) async throws {
        func run(_ mode: CassetteMode, _ value: String) async throws {
            _ = try await recorder.run(mode, get("/latest", "/items/\(value)?all=1")) { request in
                TestRecorder.json(request.head.path == "/latest" ? content.replacing("§", with: value) : "{}")
            }
        }
        try await run(.once, recorded)
        try await run(.verify, live)
    }

    @Test func `A client that connects again for ever is stopped`() async throws {
        let request = try Request.get("https://example.com/events?token=x7Rq2LmZ9sKd4TbVw8NcYh3J")
        let rules = CassetteRules.silent
        _ = try await recorder.run(.once, [request], rules: rules) { _ in TestRecorder.json("1") }
        let cassette = try recorder.cassette(.verify, rules: rules)
        let stub = StubConnection { _ in TestRecorder.json("1") }
        let connection = CassetteConnection(cassette, recording: stub)
        let error = await #expect(throws: CassetteError.self) {
            while true { _ = try await connection.send(request) }
        }
        #expect(error?.reason.contains("has sent 21 requests in place of 1;") == true)
        #expect(stub.requests.count == 21)
        #expect(error?.description.contains("x7Rq2") == false)
        // A client that catches the error ends with it all the same.
        await #expect(throws: CassetteError.self) { try await connection.send(request) }
        await #expect(throws: CassetteError.self) { try await cassette.finish() }
    }
}

/// A server that fails, or asks to wait, has not changed.
@Suite(.timeLimit(.minutes(3))) struct ServerFailureTests {
    private let recorder = TestRecorder()

    /// Sends a request until it is answered well, at most three times; a failure of 0 is one of the connection.
    private func run(_ mode: CassetteMode, failures: [Int], _ text: String) async throws -> Cassette {
        let cassette = try recorder.cassette(mode)
        let left = Mutex(failures)
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { _ in
                let failure = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                if failure == 0 { throw TransportError(.connectionRefused, at: .connecting) }
                return failure.map { Response(status: .init(code: $0)) } ?? TestRecorder.json(text)
            })
        for _ in 1...3 {
            let status = try? await connection.send(.get("https://example.com/flaky")).status
            if status == .ok { break }
        }
        return cassette
    }

    /// The changes that verifying finds after some failures, in the recording and then live.
    private func changes(_ recorded: [Int], _ live: [Int], _ text: String = "{}") async throws -> [[String]] {
        try await run(.rewrite, failures: recorded, #"{"state":"well"}"#).finish()
        do {
            try await run(.verify, failures: live, text).finish()
            return []
        } catch let error as CassetteDriftError {
            return error.drifts.map(\.changes)
        }
    }

    @Test(arguments: [
        ([503], []), ([503, 429], []), ([0], []), ([], [503]), ([], [429, 500]), ([], [0]), ([503], [503]),
        ([503], [0]),
        ([503, 503, 503], [503, 503, 503]),
    ])
    func `A failure that a retry gets over is no drift, in the recording or now`(recorded: [Int], live: [Int])
        async throws
    {
        #expect(try await changes(recorded, live, #"{"state":"fine"}"#) == [])
    }

    @Test(arguments: [([503], []), ([], [503, 503])])
    func `The answer to the retry is compared`(recorded: [Int], live: [Int]) async throws {
        #expect(
            try await changes(recorded, live, #"{"state":1}"#) == [["$.state  was a string, is a number"]])
    }

    @Test func `A server that answers well where the recording has failures alone is told`() async throws {
        let found = try await changes([503, 503, 503], [])
        #expect(found.first?.first == "status  was 503, is 200", "\(found)")
    }

    @Test func `A server that has failed until the end is noted, since nothing was compared`() async throws {
        try await run(.once, failures: [], "{}").finish()
        let cassette = try await run(.verify, failures: [503, 503, 503], "{}")
        try await cassette.finish()
        let note = try #require(cassette.noteOfFinishedTest)
        #expect(note.contains("\n  GET https://example.com/flaky  503"), "\(note)")
    }

    @Test func `A connection that has failed until the end is a drift of a test that passes`() async throws {
        #expect(try await changes([], [0, 0, 0]) == [["outcome  was a response, is connectionRefused"]])
        let failed = try await run(.verify, failures: [0, 0, 0], "{}")
        let faults = Mutex(0)
        await failed.reportFailedTest(shown: []) { _ in
            faults.withLock { $0 += 1 }
        } noting: { _ in
        }
        #expect(faults.withLock { $0 } == 0)
    }
}
