import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Responses and failures come back as they were recorded.
@Suite(.timeLimit(.minutes(3))) struct RecordedResponseTests {
    private let recorder = TestRecorder()

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
        let recording = try recorder.cassette(.once)
        let response = Response(status: .ok, fields: [.contentType: "image/png"], body: Body(content))
        _ = try await CassetteConnection(recording, recording: StubConnection(response)).send(upload)
        try await recording.finish()
        let replaying = try recorder.cassette(.replay)
        #expect(try await CassetteConnection(replaying).send(upload).body.data(upTo: 1 << 20) == content)
        try await replaying.finish()
        #expect(try replaying.interactions().first?.request.body.bytes == content)
    }

    @Test func `Failures are recorded with their stage and replayed there`() async throws {
        let errors = [
            TransportError(.connectionRefused, at: .connecting), TransportError(.timedOut, at: .head),
        ]
        for (index, error) in errors.enumerated() {
            let recording = try recorder.cassette(.once, "\(index).json")
            let connection = CassetteConnection(recording, recording: StubConnection { _ in throw error })
            _ = await #expect(throws: TransportError.self) { try await connection.send(.get("https://example.com/")) }
            try await recording.finish()

            let replayed = await #expect(throws: TransportError.self) {
                try await CassetteConnection(try recorder.cassette(.replay, "\(index).json")).send(
                    .get("https://example.com/"))
            }
            #expect(replayed?.code == error.code)
            #expect(replayed?.stage == error.stage)
        }
    }

    @Test func `A body that breaks off is replayed up to there`() async throws {
        let body = GatedTransfer.open.body(chunks: 2, of: 3, failure: TransportError(.connectionLost, at: .body))
        let recording = try recorder.cassette(.once)
        let connection = CassetteConnection(recording, recording: StubConnection(Response(status: .ok, body: body)))
        let response = try await connection.send(.get("https://example.com/"))
        await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }
        try await recording.finish()
        let replayed = try await CassetteConnection(try recorder.cassette(.replay)).send(.get("https://example.com/"))
        var reader = try await replayed.body.open()
        #expect(try await reader.next() == BytePattern.bytes(3) + BytePattern.bytes(3, at: 3))
        let error = await #expect(throws: TransportError.self) { try await reader.next() }
        #expect(error?.code == .connectionLost)
        #expect(error?.stage == .body)
    }

    @Test func `Server-sent events keep their chunks, and their pauses on the cassette's clock`() async throws {
        let clock = recorder.clock
        let body = Body(length: nil, replay: .once) { _ in
            PausingReader(chunks: ["data: one\n\n", "data: two\n\n"], clock: clock)
        }
        let response = Response(status: .ok, fields: [.contentType: "text/event-stream"], body: body)
        let recording = try recorder.cassette(.once)
        _ = try await CassetteConnection(recording, recording: StubConnection(response))
            .send(.get("https://example.com/")).body.data(upTo: 100)
        try await recording.finish()
        #expect(try recorder.folder.text("feed.json").contains(#""chunks": [[250, 11], [250, 11]]"#))

        let replaying = try recorder.cassette(.replay, rules: CassetteRules(timing: .recorded))
        let replayed = try await CassetteConnection(replaying).send(.get("https://example.com/"))
        async let text = replayed.body.text(upTo: 100)
        for _ in 0..<2 {
            try await recorder.clock.waitForSleepers()
            #expect(recorder.clock.pendingSleeps == [.milliseconds(250)])
            recorder.clock.advance(by: .milliseconds(250))
        }
        #expect(try await text == "data: one\n\ndata: two\n\n")
    }

    @Test func `Trailers and interim responses are kept`() async throws {
        let body = GatedTransfer.open.body(chunks: 1, of: 7, trailers: [.eTag: "7"])
        var response = Response(status: .ok, body: body)
        response.metadata.informational = [HTTPResponse(status: .init(code: 103), headerFields: [.server: "early"])]
        let recording = try recorder.cassette(.once)
        let answered = response
        _ = try await CassetteConnection(recording, recording: StubConnection { _ in answered })
            .send(.get("https://example.com/")).body.data(upTo: 100)
        try await recording.finish()

        let replayed = try await CassetteConnection(try recorder.cassette(.replay)).send(.get("https://example.com/"))
        #expect(replayed.metadata.informational.map(\.status.code) == [103])
        #expect(replayed.metadata.source == .cassette)
        let (data, trailers) = try await replayed.body.collect(upTo: 100)
        #expect(data == BytePattern.bytes(7))
        #expect(trailers[.eTag] == "7")
    }
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

/// An error about an answer that was played names the recording, which may have been edited.
@Suite struct RecordingPlaceTests {
    @Test func `The errors of a status and of content name the file and the line of the recording`() async throws {
        let folder = TemporaryFolder()
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
}

/// Content that has a content coding when it comes in, which hides its secrets.
@Suite(.timeLimit(.minutes(3))) struct CodedContentTests {
    /// The content `{"access_token":"opaque-value-of-no-shape","page":1}`.
    private static let token =
        "H4sIAAAAAAACA6tWSkxOTi0uji/Jz07NU7JSyi9ILCxN1S1LzAGS+Wm6efm6xRmJBalKOkoFiempSlaGtQCHYVBPNAAAAA=="
    /// The content `{"user":"me","password":"hunter2hunter2"}`.
    private static let login =
        "H4sIAAAAAAACA6tWKi1OLVKyUspNVdJRKkgsLi7PL0oB8jNK80pSi4yglFItALPUw+gpAAAA"
    /// A text with a token of GitHub, of which no name says so.
    private static let key =
        "H4sIAAAAAAACA6vMLy1SyE6ttFJIzyiIrzAPKjTyyY2yLPZOMQlJCiu38EuOzDD2KnAzS3dMNS0NjDDMBwD4DBuDMgAAAA=="
    /// The content `{"q":1,"page":2}`.
    private static let query = "H4sIAAAAAAACA6tWKlSyMtRRKkhMT1WyMqoFAKy8KiYQAAAA"
    /// The content `{ "page": 2, "q": 1.0 }`.
    private static let sameQuery = "H4sIAAAAAAACA6tWUCpITE9VslIw0lFQKgTShnoGCrUADuOKXhcAAAA="

    let folder = TemporaryFolder()

    static func data(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }

    static func answer(_ content: Data, coding: String, type: String = "application/json") -> StubConnection {
        StubConnection { _ in
            Response(
                status: .ok,
                fields: [
                    .contentType: type, .contentEncoding: coding, .contentLength: "\(content.count)",
                    .transferEncoding: "chunked",
                ], body: Body(content))
        }
    }

    func record(_ request: Request, over base: some Connection, rules: CassetteRules = CassetteRules()) async throws {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .append, rules: rules)
        _ = try await CassetteConnection(cassette, recording: base).send(request).body.data(upTo: 1 << 20)
        try await cassette.finish()
    }

    func replay(_ request: Request, rules: CassetteRules = CassetteRules()) async throws -> Response {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules)
        let response = try await CassetteConnection(cassette).send(request)
        try await cassette.finish()
        return response
    }

    @Test(arguments: ["gzip", "x-gzip", "identity, GZIP"])
    func `A secret in coded content is not written`(coding: String) async throws {
        let request = try Request.get("https://api.example.com/token")
        try await record(request, over: Self.answer(Self.data(Self.token), coding: coding))
        let text = try folder.text("feed.json")
        #expect(text.contains(#""json": { "access_token": "__token-1__", "page": 1 }"#))
        #expect(text.contains("\"encoded\": \"\(coding.lowercased())\""))
        #expect(!text.contains("Content-Encoding"))
        #expect(!text.contains("Transfer-Encoding"))
        let response = try await replay(request)
        let content = #"{"access_token":"__token-1__","page":1}"#
        #expect(try await response.body.text(upTo: 1000) == content)
        #expect(response.head.headerFields[.contentLength] == "\(content.utf8.count)")
        #expect(response.head.headerFields[.contentEncoding] == nil)
    }

    @Test func `Coded content of a request is recorded, redacted and matched as what it is`() async throws {
        func request(_ base64: String) throws -> Request {
            try .post(
                "https://api.example.com/", fields: [.contentType: "application/json", .contentEncoding: "gzip"],
                body: Body(Self.data(base64)))
        }
        try await record(try request(Self.login), over: StubConnection(Response(status: .ok)))
        #expect(try folder.text("feed.json").contains(#""json": { "user": "me", "password": "__password-1__" }"#))
        #expect(try await replay(try request(Self.login)).status == .ok)
        try FileManager.default.removeItem(atPath: folder.path("feed.json"))
        try await record(try request(Self.query), over: StubConnection(Response(status: .created)))
        #expect(try await replay(try request(Self.sameQuery)).status == .created)
    }

    @Test(arguments: ["br", "zstd", "gzip", "deflate, br"])
    func `Content in a coding that cannot be undone is not recorded`(coding: String) async throws {
        let magic: [UInt8] = coding == "zstd" ? [0x28, 0xB5, 0x2F, 0xFD, 0xFF] : [0x1F, 0x8B, 0xFF, 0xFE]
        let base = Self.answer(Data(magic), coding: coding)
        let request = try Request.get("https://api.example.com/")
        let error = await #expect(throws: CassetteError.self) { try await record(request, over: base) }
        #expect(error?.place == "the response to request 1")
        #expect(error?.reason.contains("its Content-Encoding ") == true)
        #expect(error?.reason.contains("\"\(coding)\"") == true)
        #expect(error?.reason.contains("`rules.content = .coded`") == true)
        #expect(!FileManager.default.fileExists(atPath: folder.path("feed.json")))

        let upload = try Request.post(
            "https://api.example.com/", fields: [.contentEncoding: coding], body: Body(Data(magic)))
        let second = await #expect(throws: CassetteError.self) {
            try await record(upload, over: StubConnection(Response(status: .ok)))
        }
        #expect(second?.place == "request 1")

        var rules = CassetteRules()
        rules.beforeRecording = { interaction in
            var interaction = interaction
            interaction.response?.fields[.contentEncoding] = nil
            interaction.response?.body.bytes = Data("short".utf8)
            return interaction
        }
        try await record(request, over: base, rules: rules)
        #expect(try await replay(request).body.text(upTo: 100) == "short")
    }

    @Test(arguments: ["br", "gzip"])
    func `The rules may ask for content as it was transferred`(coding: String) async throws {
        var rules = CassetteRules()
        rules.content = .coded
        let content = coding == "gzip" ? Self.data(Self.query) : Data([0x1F, 0x8B, 0xFF, 0xFE])
        let request = try Request.get("https://api.example.com/")
        for name in ["feed.json", "feed.har"] {
            let recording = try Cassette(at: folder.path(name), mode: .append, rules: rules)
            let connection = CassetteConnection(recording, recording: Self.answer(content, coding: coding))
            _ = try await connection.send(request).body.data(upTo: 1000)
            try await recording.finish()

            let replaying = try Cassette(at: folder.path(name), mode: .replay, rules: rules)
            let response = try await CassetteConnection(replaying).send(request)
            #expect(try await response.body.data(upTo: 1000) == content)
            #expect(response.head.headerFields[.contentEncoding] == coding)
        }
    }

    @Test(arguments: [token, key])
    func `Content as it was transferred is not written if it hides a secret`(base64: String) async throws {
        var rules = CassetteRules()
        rules.content = .coded
        let base = Self.answer(Self.data(base64), coding: "gzip")
        let request = try Request.get("https://api.example.com/")
        await #expect(throws: SecretFoundError.self) { try await record(request, over: base, rules: rules) }
        #expect(!FileManager.default.fileExists(atPath: folder.path("feed.json")))
    }
}
