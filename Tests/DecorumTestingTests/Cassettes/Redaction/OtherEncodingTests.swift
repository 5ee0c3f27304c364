import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Content in which not all bytes are UTF-8.
@Suite struct OtherEncodingTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The text in ISO 8859-1.
    static func latin(_ text: String) -> Data { Data(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }) }

    /// Everything that stands in the cassette and in the files beside it.
    func record(_ request: Request, _ response: Response = Response(status: .ok)) async throws -> Data {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .append)
        _ = try await CassetteConnection(cassette, recording: StubConnection(response)).send(request)
        try await cassette.finish()
        return try cassette.written(in: folder)
    }

    @Test(arguments: [
        (
            "application/x-www-form-urlencoded; charset=iso-8859-1", "user=José&password=hunter2&a=b",
            "password=__password-1__&a=b"
        ),
        ("application/json", #"{"user":"José","password":"hunter2"}"#, #""password":"__password-1__"}"#),
        (
            "application/soap+xml; charset=iso-8859-1", "<a>José<password>hunter2</password></a>",
            "<password>__password-1__<"
        ),
        ("text/html; charset=iso-8859-1", #"<p>José<a href="/x?password=hunter2">"#, #"/x?password=__password-1__""#),
        ("application/json", "{\"password\":\"hunter2\",\"user\":\"José\0\"}", #""password":"__password-1__""#),
        ("text/plain; charset=windows-1252", "José: https://a.example/?password=hunter2", "/?password=__password-1__"),
    ])
    func `A byte that is not UTF-8 hides no secret`(mediaType: String, text: String, expected: String) async throws {
        let content = Self.latin(text)
        let request = try Request.post(
            "https://example.com/", fields: [.contentType: mediaType], body: Body(content))
        _ = try await record(
            request, Response(status: .ok, fields: [.contentType: mediaType], body: Body(content)))

        let replaying = try Cassette(at: folder.path("feed.json"), mode: .replay)
        let interaction = try #require(try replaying.interactions().first)
        for bytes in [interaction.request.body.bytes, try #require(interaction.response).body.bytes] {
            #expect(bytes.firstRange(of: Data("hunter2".utf8)) == nil)
            #expect(bytes.firstRange(of: Data(expected.utf8)) != nil)
            #expect(bytes.contains(0xE9))
        }
        let other = Self.latin(text.replacing("hunter2", with: "correct-horse"))
        _ = try await CassetteConnection(replaying).send(
            .post("https://example.com/", fields: [.contentType: mediaType], body: Body(other)))
        try await replaying.finish()
    }

    @Test func `Binary content with a secret that is known from elsewhere is not written`() async throws {
        let token = "opaque-value-of-no-shape"
        let request = try Request.get("https://example.com/", fields: [.authorization: "Bearer \(token)"])
        let content = Data([0, 1, 0xFF]) + Data(token.utf8) + Data([0])
        let error = await #expect(throws: SecretFoundError.self) {
            try await record(
                request, Response(status: .ok, fields: [.contentType: "application/protobuf"], body: Body(content)))
        }
        #expect(error?.findings.map(\.kind) == [.knownSecret])
        #expect(error?.description.contains(token) == false)
        #expect(!FileManager.default.fileExists(atPath: folder.path("feed.json")))

        var rules = CassetteRules()
        rules.allowedSecrets = [.text(token)]
        let allowed = try Cassette(at: folder.path("feed.json"), mode: .append, rules: rules)
        let stub = StubConnection(Response(status: .ok, body: Body(content)))
        _ = try await CassetteConnection(allowed, recording: stub).send(request)
        try await allowed.finish()
        #expect(try allowed.interactions().isEmpty)
        #expect(FileManager.default.fileExists(atPath: folder.path("feed.json")))
    }

    @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf32BigEndian])
    func `Content in a wide encoding is not written if it holds a secret`(encoding: String.Encoding) async throws {
        for text in [#"{"user":"me","password":"hunter2"}"#, #"{"a":"ghp_x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"}"#] {
            let content = try #require(text.data(using: encoding))
            await #expect(throws: SecretFoundError.self) {
                try await record(
                    try .get("https://example.com/"),
                    Response(status: .ok, fields: [.contentType: "application/json"], body: Body(content)))
            }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path("feed.json")))

        let harmless = try #require(#"{"user":"me"}"#.data(using: encoding))
        _ = try await record(
            try .get("https://example.com/"),
            Response(status: .ok, fields: [.contentType: "application/json"], body: Body(harmless)))
        let replaying = try Cassette(at: folder.path("feed.json"), mode: .replay)
        #expect(try replaying.interactions().first?.response?.body.bytes == harmless)
    }
}

extension Cassette {
    fileprivate func written(in folder: TemporaryFolder) throws -> Data {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        return names.reduce(Data()) { $0 + (FileManager.default.contents(atPath: folder.path($1)) ?? Data()) }
    }
}
