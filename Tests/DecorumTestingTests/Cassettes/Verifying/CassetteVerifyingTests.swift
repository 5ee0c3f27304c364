import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// Verifying compares the shape of the answers, and the requests.
@Suite(.timeLimit(.minutes(3))) struct CassetteVerifyingTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    @Test func `Verifying tells of another shape and not of other values`() async throws {
        let requests = [try Request.get("https://example.com/")]
        _ = try await recorder.run(.once, requests) { _ in TestRecorder.json(#"{"id":1,"tags":["a"],"name":"x"}"#) }
        _ = try await recorder.run(.verify, requests) { _ in TestRecorder.json(#"{"id":2,"tags":[],"name":"y"}"#) }
        let before = try recorder.folder.text("feed.json")

        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests) { _ in TestRecorder.json(#"{"id":"2","tags":[1],"more":true}"#) }
        }
        #expect(
            error?.drifts.first?.changes == [
                "$.id  was a number, is a string", "$.more  is new: a boolean", "$.name  is missing: was a string",
                "$.tags[*]  was a string, is a number",
            ])
        #expect(try recorder.folder.text("feed.json") == before)
    }

    @Test(
        arguments: [
            (#"[{"a":1},{"a":2,"b":[]}]"#, #"[{"a":1,"b":[]}]"#, []),
            (#"[{"a":1},{"a":2}]"#, #"[{"a":1},{}]"#, ["$[*].a  is missing in some elements: was in all"]),
            (
                #"{"items":[{"a":{"b":1}},{"a":{"b":2}}]}"#, #"{"items":[{"a":{"b":1}},{"a":{}}]}"#,
                ["$.items[*].a.b  is missing in some elements: was in all"]
            ),
            (#"[{"a":1},null]"#, #"[null,{"a":1},{"a":2}]"#, []),
            (
                #"[{"a":1},null]"#, #"[null,{"a":"x"},{"b":1}]"#,
                [
                    "$[*].a  is missing in some elements: was in all", "$[*].a  was a number, is a string",
                    "$[*].b  is new: a number",
                ]
            ),
            (#"[{"a":[]}]"#, #"[{"a":[]},{"a":null}]"#, ["$[*].a  was an array, is an array or null"]),
            (#"[]"#, #"[{"a":1},{}]"#, []),
        ] as [(String, String, [String])])
    func `A member that some elements lack is told where all of them had it`(
        recorded: String, live: String, changes: [String]
    ) throws {
        let shapes = try [recorded, live].map { try #require(JSONShape(of: Data($0.utf8))) }
        #expect(shapes[0].drift(to: shapes[1]) == changes)
    }

    @Test func `Verifying tells of another shape of the events in a stream`() async throws {
        let requests = [try Request.get("https://example.com/")]
        @Sendable func stream(_ data: String...) -> Response {
            let text = data.map { "data: \($0)\n\n" }.joined()
            return Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(Data(text.utf8)))
        }
        _ = try await recorder.run(.once, requests) { _ in stream(#"{"choices":[{"text":"a"}]}"#, "[DONE]") }
        _ = try await recorder.run(.verify, requests) { _ in
            stream(#"{"choices":[]}"#, #"{"choices":[{"text":"b"}]}"#, "[DONE]")
        }
        for (answer, change) in [
            (stream(#"{"choices":[{"delta":"a"}]}"#, "[DONE]"), "events[*].choices[*].delta  is new: a string"),
            (stream("hello", "[DONE]"), "events  are no JSON any more"),
        ] {
            let error = await #expect(throws: CassetteDriftError.self) {
                try await recorder.run(.verify, requests) { _ in answer }
            }
            #expect(error?.drifts.first?.changes.first == change)
        }
    }

    @Test(
        arguments: [
            (["stock", "news"], ["news", "stock", "stock"], nil),
            (["stock", "news"], ["stok", "news"], "events  the type “stock” is missing, and the type “stok” is new"),
            (["stock", "", "news"], ["news"], "events  the types “message”, “stock” are missing"),
            (
                ["a"], ["a", "b", "c", "d", "e", "f", "g"],
                "events  the types “b”, “c”, “d”, “e”, “f” and 1 more are new"
            ),
            (["a"], [], nil),
        ] as [([String], [String], String?)])
    func `The types of events are compared, by which a client chooses`(
        recorded: [String], live: [String], change: String?
    ) {
        let streams = [recorded, live].map { types in
            Data(types.map { ($0.isEmpty ? "" : "event: \($0)\n") + "data: {}\n\n" }.joined().utf8)
        }
        #expect(EventTypes.drift(from: streams[0], to: streams[1]) == [change].compactMap(\.self))
    }

    @Test func `Verifying tells of an event that was renamed`() async throws {
        let requests = [try Request.get("https://example.com/")]
        @Sendable func stream(_ type: String) -> Response {
            let text = "event: \(type)\ndata: {\"price\":1}\n\n"
            return Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(Data(text.utf8)))
        }
        _ = try await recorder.run(.once, requests) { _ in stream("stock") }
        _ = try await recorder.run(.verify, requests) { _ in stream("stock") }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests) { _ in stream("stok") }
        }
        #expect(
            error?.drifts.first?.changes == ["events  the type “stock” is missing, and the type “stok” is new"])
    }

    @Test func `A request that is sent again for another answer does not blame the test`() async throws {
        let request = try Request.get("https://example.com/events")
        @Sendable func stream(_ type: String) -> Response {
            let text = "event: \(type)\ndata: {\"price\":1}\n\n"
            return Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(Data(text.utf8)))
        }
        _ = try await recorder.run(.once, [request]) { _ in stream("stock") }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, [request, request]) { _ in stream("stok") }
        }
        let text = try #require(error).description
        #expect(text.hasPrefix("Requests of the test, and answers of the server, are no longer those"), "\(text)")
        #expect(text.contains("and sent once more\n    the other answer to it may be why\n"), "\(text)")
        #expect(text.contains("\nfix: mend the server if its answer is not meant to change; else "), "\(text)")
    }

    @Test(arguments: [[101, 102], [102, 103], [102, 101], [7, 8]])
    func `Verifying knows a request by an identifier that the server has given in this run`(ids: [Int]) async throws {
        func run(_ mode: CassetteMode, _ ids: [Int]) async throws {
            let cassette = try recorder.cassette(mode)
            let left = Mutex(ids)
            let stub = StubConnection { request in
                guard request.head.method == .post, let id = left.withLock({ $0.isEmpty ? nil : $0.removeFirst() })
                else {
                    return TestRecorder.json(#"{"count":3}"#)
                }
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

    @Test(arguments: ["pat_wmsdyvxygv", "kJhGfDsAqW", "wms-dyvx-ygv", "pat_97ws3ja4uk"])
    func `An identifier of a new item may be a word without a digit`(id: String) async throws {
        func run(_ mode: CassetteMode, _ id: String) async throws {
            _ = try await recorder.run(
                mode, [.post("https://example.com/items", body: "{}"), .get("https://example.com/items/\(id)?all=1")]
            ) { request in
                guard request.head.method == .post else { return TestRecorder.json("{}") }
                return Response(status: .created, fields: [.location: "/items/\(id)"], body: Body(#"{"id":"\#(id)"}"#))
            }
        }
        try await run(.once, "pat_zwzlbakqrt")
        try await run(.verify, id)
    }

    @Test(arguments: [("ownerID", true), ("owner_id", true), ("valid", false), ("state", false)])
    func `A word without a digit is an identifier only by the name of its member`(name: String, isIdentifier: Bool)
        async throws
    {
        func run(_ mode: CassetteMode, _ word: String) async throws {
            _ = try await recorder.run(
                mode, ["/latest", "/items?after=\(word)"].map { try .get("https://example.com" + $0) }
            ) { _ in TestRecorder.json(#"{"\#(name)":"\#(word)"}"#) }
        }
        try await run(.once, "crimson")
        guard !isIdentifier else { return try await run(.verify, "magenta") }
        let error = await #expect(throws: CassetteDriftError.self) { try await run(.verify, "magenta") }
        #expect(
            error?.drifts.map(\.changes.first) == ["is sent in place of GET https://example.com/items?after=crimson"])
    }

    @Test(arguments: [("A1b2C3d4", "kJhGfDsA"), ("kJhGfDsA", "A1b2C3d4"), ("qzxkvwbt", "kJhGfDsA")])
    func `A random cursor or number of a job may have no digit by chance`(recorded: String, live: String) async throws {
        func run(_ mode: CassetteMode, _ word: String) async throws {
            let requests = try [
                .post("https://example.com/exports", body: "{}"), .get("https://example.com/list"),
                .get("https://example.com/list?cursor=\(word)"), Request.get("https://example.com/jobs/\(word)"),
            ]
            _ = try await recorder.run(mode, requests) { request in
                guard request.head.method == .post else { return TestRecorder.json(#"{"nextCursor":"\#(word)"}"#) }
                return Response(status: .accepted, fields: [.location: "/jobs/\(word)"])
            }
        }
        try await run(.once, recorded)
        try await run(.verify, live)
    }

    @Test func `A word beside one of the same length with a digit is no identifier`() async throws {
        func requests(_ state: String) throws -> [Request] {
            try ["/latest", "/items?state=\(state)"].map { try .get("https://example.com" + $0) }
        }
        _ = try await recorder.run(.once, requests("account")) { _ in TestRecorder.json(#"{"state":"account"}"#) }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests("step2fa")) { _ in TestRecorder.json(#"{"state":"step2fa"}"#) }
        }
        #expect(error?.drifts.first?.request == "GET https://example.com/items?state=step2fa")
    }

    @Test func `A word that the client may choose is no identifier`() async throws {
        func requests(_ state: String) throws -> [Request] {
            try ["/latest", "/items?state=\(state)"].map { try .get("https://example.com" + $0) }
        }
        _ = try await recorder.run(.once, requests("open")) { _ in TestRecorder.json(#"{"state":"open"}"#) }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests("closed")) { _ in TestRecorder.json(#"{"state":"closed"}"#) }
        }
        #expect(error?.drifts.map(\.changes.first) == ["is sent in place of GET https://example.com/items?state=open"])
    }

    @Test func `Another media type is told once`() async throws {
        let requests = [try Request.get("https://example.com/")]
        _ = try await recorder.run(.once, requests) { _ in
            Response(status: .ok, fields: [.contentType: "text/plain"], body: "one")
        }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests) { _ in TestRecorder.json("{}") }
        }
        #expect(error?.drifts.first?.changes == ["media type  was text/plain, is application/json"])
    }

    @Test func `Verifying notices requests that are no longer made`() async throws {
        let requests = try ["/a", "/gone"].map { try Request.get("https://example.com" + $0) }
        _ = try await recorder.run(.once, requests) { _ in TestRecorder.json("1") }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, [requests[0]]) { _ in TestRecorder.json("2") }
        }
        #expect(error?.drifts.map(\.request) == ["GET https://example.com/gone"])
        #expect(error?.description.contains("is recorded, and no longer requested") == true)
        _ = try await recorder.run(.verify, [requests[0]], rules: CassetteRules(unused: .allow)) { _ in
            TestRecorder.json("2")
        }
    }

    @Test func `A client that connects again for ever is stopped`() async throws {
        let request = try Request.get("https://example.com/events?token=x7Rq2LmZ9sKd4TbVw8NcYh3J")
        let rules = CassetteRules.silent
        _ = try await recorder.run(.once, [request], rules: rules) { _ in TestRecorder.json("1") }
        let cassette = try recorder.cassette(.verify, rules: rules)
        let stub = StubConnection { _ in TestRecorder.json("1") }
        let connection = CassetteConnection(cassette, recording: stub)
        let error = await #expect(throws: EndlessRequestsError.self) {
            while true { _ = try await connection.send(request) }
        }
        #expect(error?.sent == 21)
        #expect(stub.requests.count == 21)
        #expect(error?.description.contains("sent 21 requests, of which 1 is recorded, and may go on") == true)
        #expect(error?.description.contains("x7Rq2") == false)
        // A client that catches the error ends with it all the same.
        await #expect(throws: EndlessRequestsError.self) { try await connection.send(request) }
        await #expect(throws: EndlessRequestsError.self) { try await cassette.finish() }
    }
}
