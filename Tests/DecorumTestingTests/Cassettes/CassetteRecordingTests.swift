import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Each mode writes the file that it says, and plays what is in it.
@Suite(.timeLimit(.minutes(3))) struct CassetteRecordingTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    @Test func `A file reads well`() async throws {
        _ = try await recorder.run(
            .once, [try Request.post("https://api.example.com/search?lang=de", body: #"{"q":"Käse","page":1}"#)]
        ) { _ in
            Response(
                status: .ok,
                fields: [
                    .contentType: "application/json", .setCookie: "", .server: "x", HTTPField.Name("X-Runtime")!: "0.1",
                ],
                body: #"{"total":1.50,"items":[],"nested":{"a":[1,2],"b":{}}}"#)
        }
        let text = try recorder.folder.text("feed.json")
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

    @Test func `Appending plays what is there and records the rest`() async throws {
        let first = try Request.get("https://example.com/a")
        let second = try Request.get("https://example.com/b")
        _ = try await recorder.run(.once, [first]) { _ in TestRecorder.json("1") }
        let texts = try await recorder.run(.append, [first, second]) { _ in TestRecorder.json("2") }

        #expect(texts == ["1", "2"])
        #expect(try await recorder.run(.replay, [second, first]) == ["2", "1"])
    }

    @Test func `Stored interactions are neither read nor written again`() async throws {
        // Decoding this fails.
        let interaction = #"{"response":{"base64":"%%%" ,"status":200},  "request":{"url":"/a","method":"GET"}}"#
        try recorder.folder.write(#"{"cassette": 1, "interactions": [\#(interaction)]}"#, to: "feed.json")
        _ = try await recorder.run(.append, [try Request.get("https://example.com/b")]) { _ in TestRecorder.json("2") }
        #expect(try recorder.folder.text("feed.json").contains(interaction))
        #expect(
            try await recorder.run(
                .replay, [try Request.get("https://example.com/b")], rules: CassetteRules(unused: .allow))
                == ["2"])
    }

    @Test func `Files beside the cassette go with the last interaction that names them`() async throws {
        @Sendable func image(_ byte: UInt8) -> Response {
            Response(
                status: .ok, fields: [.contentType: "image/png"], body: Body(Data(repeating: byte, count: 200_000)))
        }
        func send(_ mode: CassetteMode, _ paths: [String], _ byte: UInt8) async throws -> Int {
            let cassette = try recorder.cassette(mode)
            let connection = CassetteConnection(cassette, recording: StubConnection { _ in image(byte) })
            for path in paths {
                _ = try await connection.send(.get("https://example.com" + path)).body.data(upTo: 1 << 20)
            }
            try await cassette.finish()
            return try FileManager.default.contentsOfDirectory(atPath: recorder.folder.path("feed.tape")).count
        }
        #expect(try await send(.once, ["/a", "/b"], 1) == 1)
        #expect(try await send(.append, ["/c"], 2) == 2)
        #expect(try await send(.rewrite, ["/b"], 1) == 1)
        #expect(try await send(.replay, ["/b"], 0) == 1)
        #expect(try await send(.rewrite, ["/b"], 3) == 1)
    }

    @Test func `A run that is not finished leaves no file`() async throws {
        let cassette = try recorder.cassette(.once)
        let connection = CassetteConnection(cassette, recording: StubConnection { _ in TestRecorder.json("1") })
        _ = try await connection.send(.get("https://example.com/"))
        #expect(!FileManager.default.fileExists(atPath: cassette.file.path))
    }
}
