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
