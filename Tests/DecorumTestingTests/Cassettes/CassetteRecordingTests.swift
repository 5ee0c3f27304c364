import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct CassetteRecordingTests {
    let folder: TemporaryFolder
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_793_300_000))

    init() throws {
        folder = try TemporaryFolder()
    }

    func cassette(_ mode: CassetteMode, _ name: String = "feed.json", rules: CassetteRules = CassetteRules()) throws
        -> Cassette
    {
        try Cassette(at: folder.path(name), mode: mode, rules: rules, clock: clock)
    }

    /// Sends requests through a cassette in a mode, and ends its run.
    func run(
        _ mode: CassetteMode, _ requests: [Request], rules: CassetteRules = CassetteRules(),
        answer: @escaping StubConnection.Answer = { _ in throw StubExhaustedError(method: .get) }
    ) async throws -> [String] {
        let cassette = try cassette(mode, rules: rules)
        let connection = CassetteConnection(cassette, recording: StubConnection(answer))
        var texts: [String] = []
        for request in requests {
            texts.append(try await connection.send(request).body.text(upTo: 1 << 20))
        }
        try await cassette.finish()
        return texts
    }

    static func json(_ text: String) -> Response {
        Response(status: .ok, fields: [.contentType: "application/json"], body: Body(text))
    }

    @Test func `A recording is replayed without a base`() async throws {
        let requests = [
            try Request.get("https://example.com/feed?page=1"),
            try Request.post("https://example.com/feed", body: "{\"q\": 1}"),
        ]
        let recorded = try await run(.once, requests) { request in
            Self.json(request.head.method == .get ? #"{"items": [1.50, 2]}"# : "{}")
        }
        let replayed = try await run(.once, requests)

        #expect(recorded == replayed)
        #expect(replayed == [#"{"items": [1.50, 2]}"#, "{}"])
    }

    @Test func `A file reads well`() async throws {
        _ = try await run(
            .once, [try Request.post("https://api.example.com/search?lang=de", body: #"{"q":"Käse","page":1}"#)]
        ) { _ in
            Response(
                status: .ok,
                fields: [
                    .contentType: "application/json", .setCookie: "", .server: "x", HTTPField.Name("X-Runtime")!: "0.1",
                ],
                body: #"{"total":1.50,"items":[],"nested":{"a":[1,2],"b":{}}}"#)
        }
        let text = try folder.text("feed.json")
        #expect(
            text == """
                {
                  "cassette": 1,
                  "interactions": [
                    {
                      "request": {
                        "method": "POST",
                        "url": "https://api.example.com/search?lang=de",
                        "headers": {
                          "Content-Type": "text/plain; charset=utf-8"
                        },
                        "json": { "q": "Käse", "page": 1 }
                      },
                      "response": {
                        "status": 200,
                        "headers": {
                          "Content-Type": "application/json",
                          "Set-Cookie": "",
                          "Server": "x"
                        },
                        "json": {
                          "total": 1.50,
                          "items": [],
                          "nested": {
                            "a": [1, 2],
                            "b": {}
                          }
                        }
                      },
                      "at": "2026-10-29"
                    }
                  ]
                }

                """)
    }

    @Test func `Recording an unchanged server again leaves the file as it is`() async throws {
        let requests = [try Request.get("https://example.com/a"), try Request.get("https://example.com/b")]
        @Sendable func answer(_ request: Request) -> Response {
            var response = Self.json("{\"path\":\"\(request.head.path ?? "")\"}")
            response.head.headerFields[.date] = HTTPDate(clock.date).description
            return response
        }
        _ = try await run(.once, requests, answer: answer)
        let before = try folder.text("feed.json")

        clock.advance(by: .seconds(86_400 * 3))
        _ = try await run(.rewrite, requests, answer: answer)
        #expect(try folder.text("feed.json") == before)

        _ = try await run(.rewrite, requests) { request in
            request.head.path == "/a" ? Self.json("{\"path\":\"/c\"}") : answer(request)
        }
        let (old, new) = (before.split(separator: "\n"), try folder.text("feed.json").split(separator: "\n"))
        #expect(Set(old).symmetricDifference(new).count <= 4)
    }

    @Test func `Appending plays what is there and records the rest`() async throws {
        let first = try Request.get("https://example.com/a")
        let second = try Request.get("https://example.com/b")
        _ = try await run(.once, [first]) { _ in Self.json("1") }
        let texts = try await run(.append, [first, second]) { _ in Self.json("2") }

        #expect(texts == ["1", "2"])
        #expect(try await run(.replay, [second, first]) == ["2", "1"])
    }

    @Test func `Stored interactions are neither read nor written again`() async throws {
        // Decoding this fails.
        let interaction = #"{"response":{"base64":"%%%" ,"status":200},  "request":{"url":"/a","method":"GET"}}"#
        try folder.write(#"{"cassette": 1, "interactions": [\#(interaction)]}"#, to: "feed.json")
        _ = try await run(.append, [try Request.get("https://example.com/b")]) { _ in Self.json("2") }
        #expect(try folder.text("feed.json").contains(interaction))
        #expect(
            try await run(.replay, [try Request.get("https://example.com/b")], rules: CassetteRules(unused: .allow))
                == ["2"])
    }

    @Test func `Files beside the cassette go with the last interaction that names them`() async throws {
        @Sendable func image(_ byte: UInt8) -> Response {
            Response(
                status: .ok, fields: [.contentType: "image/png"], body: Body(Data(repeating: byte, count: 200_000)))
        }
        func send(_ mode: CassetteMode, _ paths: [String], _ byte: UInt8) async throws -> Int {
            let cassette = try cassette(mode)
            let connection = CassetteConnection(cassette, recording: StubConnection { _ in image(byte) })
            for path in paths {
                _ = try await connection.send(.get("https://example.com" + path)).body.data(upTo: 1 << 20)
            }
            try await cassette.finish()
            return try FileManager.default.contentsOfDirectory(atPath: folder.path("feed.tape")).count
        }
        #expect(try await send(.once, ["/a", "/b"], 1) == 1)
        #expect(try await send(.append, ["/c"], 2) == 2)
        #expect(try await send(.rewrite, ["/b"], 1) == 1)
        #expect(try await send(.replay, ["/b"], 0) == 1)
        #expect(try await send(.rewrite, ["/b"], 3) == 1)
    }

    @Test func `A run that is not finished leaves no file`() async throws {
        let cassette = try cassette(.once)
        let connection = CassetteConnection(cassette, recording: StubConnection { _ in Self.json("1") })
        _ = try await connection.send(.get("https://example.com/"))
        #expect(!FileManager.default.fileExists(atPath: cassette.file.path))
    }

    @Test(arguments: [
        Data(), Data("plain".utf8), Data("two\nlines\n".utf8), Data([0xFF, 0xFE, 0, 1]), Data(#"{"a" : 1}"#.utf8),
        Data("{\n  \"a\": [\n    1,\n    2\n  ]\n}\n".utf8), Data("\u{FEFF}{}".utf8), Data("[1,]".utf8),
        Data("a\r\nb\r\r\n\n".utf8), Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
        Data(#"{"a": 1, "a":2}"#.utf8), Data("\"\\u00e9\\/\"".utf8), Data("1e5 ".utf8),
        Data([0x7B, 0x22, 0xC3, 0x22, 0x3A, 0x31, 0x7D]),
    ])
    func `Each byte of a body comes back`(content: Data) async throws {
        var upload = try Request.post("https://example.com/", body: Body(content))
        upload.head.headerFields[.contentType] = "application/octet-stream"
        let recording = try cassette(.once)
        let response = Response(status: .ok, fields: [.contentType: "image/png"], body: Body(content))
        _ = try await CassetteConnection(recording, recording: StubConnection(response)).send(upload)
        try await recording.finish()

        let replaying = try cassette(.replay)
        #expect(try await CassetteConnection(replaying).send(upload).body.data(upTo: 1 << 20) == content)
        try await replaying.finish()
        #expect(try replaying.interactions().first?.request.body.bytes == content)
    }

    @Test func `Failures are recorded with their stage and replayed there`() async throws {
        let errors = [
            TransportError(.connectionRefused, at: .connecting), TransportError(.timedOut, at: .head),
        ]
        for (index, error) in errors.enumerated() {
            let recording = try cassette(.once, "\(index).json")
            let connection = CassetteConnection(recording, recording: StubConnection { _ in throw error })
            _ = await #expect(throws: TransportError.self) { try await connection.send(.get("https://example.com/")) }
            try await recording.finish()

            let replayed = await #expect(throws: TransportError.self) {
                try await CassetteConnection(try cassette(.replay, "\(index).json")).send(.get("https://example.com/"))
            }
            #expect(replayed?.code == error.code)
            #expect(replayed?.stage == error.stage)
        }
    }

    @Test func `A body that breaks off is replayed up to there`() async throws {
        let body = Body(length: nil, replay: .once) { _ in BreakingReader(chunks: ["one", "two"]) }
        let recording = try cassette(.once)
        let connection = CassetteConnection(recording, recording: StubConnection(Response(status: .ok, body: body)))
        let response = try await connection.send(.get("https://example.com/"))
        await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }
        try await recording.finish()

        let replayed = try await CassetteConnection(try cassette(.replay)).send(.get("https://example.com/"))
        var reader = try await replayed.body.open()
        #expect(try await reader.next() == Data("onetwo".utf8))
        let error = await #expect(throws: TransportError.self) { try await reader.next() }
        #expect(error?.code == .connectionLost)
        #expect(error?.stage == .body)
    }

    @Test func `Server-sent events keep their chunks, and their pauses on the cassette's clock`() async throws {
        let clock = clock
        let body = Body(length: nil, replay: .once) { _ in
            PausingReader(chunks: ["data: one\n\n", "data: two\n\n"], clock: clock)
        }
        let response = Response(status: .ok, fields: [.contentType: "text/event-stream"], body: body)
        let recording = try cassette(.once)
        _ = try await CassetteConnection(recording, recording: StubConnection(response))
            .send(.get("https://example.com/")).body.data(upTo: 100)
        try await recording.finish()
        #expect(try folder.text("feed.json").contains(#""chunks": [[250, 11], [250, 11]]"#))

        let replaying = try cassette(.replay, rules: CassetteRules(timing: .recorded))
        let replayed = try await CassetteConnection(replaying).send(.get("https://example.com/"))
        async let text = replayed.body.text(upTo: 100)
        for _ in 0..<2 {
            try await clock.waitForSleepers()
            #expect(clock.pendingSleeps == [.milliseconds(250)])
            clock.advance(by: .milliseconds(250))
        }
        #expect(try await text == "data: one\n\ndata: two\n\n")
    }

    @Test func `Trailers and interim responses are kept`() async throws {
        let body = Body(length: nil, replay: .once) { _ in TrailerReader() }
        var response = Response(status: .ok, body: body)
        response.metadata.informational = [HTTPResponse(status: .init(code: 103), headerFields: [.server: "early"])]
        let recording = try cassette(.once)
        let answered = response
        _ = try await CassetteConnection(recording, recording: StubConnection { _ in answered })
            .send(.get("https://example.com/")).body.data(upTo: 100)
        try await recording.finish()

        let replayed = try await CassetteConnection(try cassette(.replay)).send(.get("https://example.com/"))
        #expect(replayed.metadata.informational.map(\.status.code) == [103])
        #expect(replayed.metadata.source == .cassette)
        let (data, trailers) = try await replayed.body.collect(upTo: 100)
        #expect(data == Data("content".utf8))
        #expect(trailers[.eTag] == "7")
    }

    @Test func `Fifty tasks that record at once write the same file each time`() async throws {
        var files: Set<String> = []
        for round in 0..<(ProcessInfo.processInfo.environment["DECORUM_SOAK"] == nil ? 10 : 100) {
            let recording = try cassette(.once, "\(round).json")
            let gate = Gate()
            let stub = StubConnection { request in
                try await gate.wait()
                return Self.json("{\"path\":\"\(request.head.path ?? "")\"}")
            }
            let connection = CassetteConnection(recording, recording: stub)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        _ = try await connection.send(.get("https://example.com/\(index)")).body.data(upTo: 100)
                    }
                }
                try await gate.waitForWaiting(50)
                gate.open()
                try await group.waitForAll()
            }
            try await recording.finish()
            files.insert(try folder.text("\(round).json"))
        }
        #expect(files.count == 1)
    }

    /// Sends each request in a separate task, one after the other, as a layer may do.
    private func sendInTasks(_ paths: [String], _ cassette: Cassette) async throws {
        let connection = CassetteConnection(cassette, recording: StubConnection { _ in Self.json("1") })
        for path in paths {
            try await Task { _ = try await connection.send(.get("https://example.com\(path)")).body.data(upTo: 9) }
                .value
        }
    }

    @Test func `Requests that must be played in order are recorded in order, whichever task sends them`() async throws {
        let rules = CassetteRules(order: .strict)
        for round in 0..<20 {
            for mode in [CassetteMode.once, .replay] {
                let cassette = try cassette(mode, "\(round).json", rules: rules)
                try await sendInTasks(["/b", "/a", "/b"], cassette)
                try await cassette.finish()
            }
        }
    }

    @Test func `Requests of one task stay in their order`() async throws {
        let requests = try ["/b", "/a"].map { try Request.get("https://example.com" + $0) }
        _ = try await run(.once, requests) { _ in Self.json("1") }
        #expect(
            try cassette(.replay).interactions().map(\.request.url) == [
                "https://example.com/b", "https://example.com/a",
            ])
    }

    @Test func `Recorders of one file agree, whoever is first`() async throws {
        var files: Set<String> = []
        for order in [["a", "b"], ["b", "a"]] {
            let name = "\(order.joined()).json"
            let cassettes = try order.map { _ in try cassette(.once, name) }
            for (path, cassette) in zip(order, cassettes) {
                let connection = CassetteConnection(cassette, recording: StubConnection { _ in Self.json("1") })
                _ = try await connection.send(.get("https://example.com/\(path)")).body.data(upTo: 100)
                _ = try await connection.send(.get("https://example.com/both")).body.data(upTo: 100)
            }
            for cassette in cassettes { try await cassette.finish() }
            files.insert(try folder.text(name))
        }
        #expect(files.count == 1)
        #expect(files.first?.components(separatedBy: "\"request\"").count == 4)
    }

    @Test func `Verifying tells of another shape and not of other values`() async throws {
        let requests = [try Request.get("https://example.com/")]
        _ = try await run(.once, requests) { _ in Self.json(#"{"id":1,"tags":["a"],"name":"x"}"#) }
        _ = try await run(.verify, requests) { _ in Self.json(#"{"id":2,"tags":[],"name":"y"}"#) }
        let before = try folder.text("feed.json")

        let error = await #expect(throws: CassetteDriftError.self) {
            try await run(.verify, requests) { _ in Self.json(#"{"id":"2","tags":[1],"more":true}"#) }
        }
        #expect(
            error?.drifts.first?.changes == [
                "$.id  was a number, is a string", "$.more  is new: a boolean", "$.name  is missing: was a string",
                "$.tags[*]  was a string, is a number",
            ])
        #expect(try folder.text("feed.json") == before)
    }

    @Test func `Verifying tells of another shape of the events in a stream`() async throws {
        let requests = [try Request.get("https://example.com/")]
        @Sendable func stream(_ data: String...) -> Response {
            let text = data.map { "data: \($0)\n\n" }.joined()
            return Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(Data(text.utf8)))
        }
        _ = try await run(.once, requests) { _ in stream(#"{"choices":[{"text":"a"}]}"#, "[DONE]") }
        _ = try await run(.verify, requests) { _ in stream(#"{"choices":[]}"#, #"{"choices":[{"text":"b"}]}"#, "[DONE]")
        }
        for (answer, change) in [
            (stream(#"{"choices":[{"delta":"a"}]}"#, "[DONE]"), "events[*].choices[*].delta  is new: a string"),
            (stream("hello", "[DONE]"), "events  are no JSON any more"),
        ] {
            let error = await #expect(throws: CassetteDriftError.self) {
                try await run(.verify, requests) { _ in answer }
            }
            #expect(error?.drifts.first?.changes.first == change)
        }
    }

    @Test func `Verifying notices requests that are no longer made`() async throws {
        let requests = try ["/a", "/gone"].map { try Request.get("https://example.com" + $0) }
        _ = try await run(.once, requests) { _ in Self.json("1") }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await run(.verify, [requests[0]]) { _ in Self.json("2") }
        }
        #expect(error?.drifts.map(\.request) == ["GET https://example.com/gone"])
        #expect(error?.description.contains("is recorded, and no longer requested") == true)
        _ = try await run(.verify, [requests[0]], rules: CassetteRules(unused: .allow)) { _ in Self.json("2") }
    }
}

private struct BreakingReader: BodyReader {
    var chunks: [String]

    mutating func next() async throws -> Data? {
        guard !chunks.isEmpty else { throw TransportError(.connectionLost, at: .body) }
        return Data(chunks.removeFirst().utf8)
    }

    var trailers: HTTPFields? { nil }
}

private struct PausingReader: BodyReader {
    var chunks: [String]
    let clock: VirtualClock

    mutating func next() async throws -> Data? {
        guard !chunks.isEmpty else { return nil }
        clock.advance(by: .milliseconds(250))
        return Data(chunks.removeFirst().utf8)
    }

    var trailers: HTTPFields? { nil }
}

private struct TrailerReader: BodyReader {
    var chunks = ["content"]
    var trailers: HTTPFields? { chunks.isEmpty ? [.eTag: "7"] : nil }

    mutating func next() async throws -> Data? {
        chunks.isEmpty ? nil : Data(chunks.removeFirst().utf8)
    }
}
