import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

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
