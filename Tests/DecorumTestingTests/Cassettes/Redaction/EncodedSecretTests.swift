import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Base64 of a text with a secret that the recording knows from another place.
@Suite struct EncodedSecretTests {
    private static let token = "t0psecret-token-value"
    private static let placeholder = "__token-1__"

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func encoded(_ name: String, _ token: String, isPadded: Bool) -> String {
        let text = Data("\(name):\(token)".utf8).base64EncodedString()
        return isPadded ? text : text.replacing("=", with: "")
    }

    /// Logs in, and sends Base64 of a name and a token in JSON, in a field, in a form and in text.
    ///
    /// The token is the one of the login, unless there is another one.
    private func session(
        _ connection: some Connection, _ name: String, isPadded: Bool, token other: String? = nil
    ) async throws {
        let login = try await connection.send(.get("https://api.example.com/login")).body.text(upTo: 1000)
        let answer = try JSONDecoder().decode([String: String].self, from: Data(login.utf8))
        let token = try #require(answer["access_token"])
        let coded = Self.encoded(name, other ?? token, isPadded: isPadded)
        let note = try #require(HTTPField.Name("X-Note"))
        func post(_ content: String, _ mediaType: String) async throws {
            var fields: HTTPFields = [.contentType: mediaType]
            fields[note] = coded
            _ = try await connection.send(
                .post("https://api.example.com/proof", fields: fields, body: Body(Data(content.utf8))))
        }
        try await post(#"{"proof":"\#(coded)"}"#, "application/json")
        try await post("proof=\(PercentCoding.encode(coded))&a=1", "application/x-www-form-urlencoded")
        try await post("I am \(coded)!", "text/plain")
    }

    @Test(arguments: ["u", "us", "use"], [true, false])
    func `It is replaced within Base64, and the flow replays with any token`(
        name: String, isPadded: Bool
    ) async throws {
        let recording = try Cassette(at: folder.path("a.json"), mode: .append, rules: .silent)
        let stub = StubConnection { request in
            guard request.head.method == .get else { return Response(status: .ok) }
            return Response(
                status: .ok, fields: [.contentType: "application/json"],
                body: Body(Data(#"{"access_token":"\#(Self.token)"}"#.utf8)))
        }
        try await session(CassetteConnection(recording, recording: stub), name, isPadded: isPadded)
        try await recording.finish()

        // A word of whole groups does not tell whether it would be padded.
        func unpadded(_ text: String) -> String { text.replacing("%3D", with: "").replacing("=", with: "") }
        let written = Self.encoded(name, Self.placeholder, isPadded: false)
        let text = try folder.text("a.json")
        #expect(!text.contains(Self.token))
        #expect(!text.contains(Self.encoded(name, Self.token, isPadded: false)))
        let file = try Cassette(at: folder.path("a.json"), mode: .replay, rules: .silent)
        let requests = try file.interactions().map(\.request).filter { $0.method == "POST" }
        let contents = Set(requests.map { unpadded(String(decoding: $0.body.bytes, as: UTF8.self)) })
        #expect(contents.contains { $0.contains(#""\#(written)""#) }, "\(contents)")
        #expect(contents.contains("proof\(written)&a1"), "\(contents)")
        #expect(contents.contains("I am \(written)!"), "\(contents)")
        let note = try #require(HTTPField.Name("X-Note"))
        #expect(requests.map { unpadded($0.fields[note] ?? "") } == [written, written, written])

        let tokens: [String?] = [nil, Self.token, "an0ther-token"]
        for token in tokens {
            let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: .silent)
            try await session(CassetteConnection(replaying), name, isPadded: isPadded, token: token)
            try await replaying.finish()
        }
    }

    @Test(arguments: [("ann", "Redacted1AAAAAAA"), ("bob", "Redacted2AAAAAAA")])
    func `A placeholder within Base64 chooses its recording`(name: String, placeholder: String) async throws {
        let interactions = [("ann", "Redacted1AAAAAAA"), ("bob", "Redacted2AAAAAAA")].map { name, placeholder in
            let coded = Self.encoded(name, placeholder, isPadded: true)
            let request = #"{"method": "POST", "url": "https://example.com/me", "text": "\#(coded)"}"#
            return #"{"request": \#(request), "response": {"status": 200, "text": "\#(name)"}}"#
        }
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ",\n"))]}"#, to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        let content = Data(Self.encoded(name, placeholder, isPadded: true).utf8)
        let response = try await CassetteConnection(cassette)
            .send(.post("https://example.com/me", body: Body(content)))
        #expect(try await response.body.text(upTo: 100) == name)
    }

    @Test func `Binary content with Base64 of a secret is not written`() async throws {
        let content = Data([0, 1, 0xFF]) + Data(Self.encoded("user", Self.token, isPadded: true).utf8) + Data([0])
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: .silent)
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentType: "application/octet-stream"], body: Body(content)))
        _ = try await CassetteConnection(cassette, recording: stub)
            .send(.get("https://example.com/", fields: [.authorization: "Bearer \(Self.token)"]))
        let error = await #expect(throws: SecretFoundError.self) { try await cassette.finish() }
        #expect(error?.findings.map(\.kind) == [.knownSecret])
    }
}
