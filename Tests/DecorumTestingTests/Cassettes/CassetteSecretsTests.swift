import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct CassetteSecretsTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Logs in with a password, and asks with the token that comes back.
    func session(_ connection: some Connection, password: String) async throws -> String {
        var login = try Request.post(
            "https://api.example.com/login?api_key=\(password)-key", fields: [.contentType: "application/json"],
            body: Body("{\"user\":\"me\",\"password\":\"\(password)\"}"))
        login.head.headerFields[.cookie] = "session=\(password)-cookie; theme=dark"
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let token = try await connection.send(login).body.decode(Login.self, upTo: 1000, using: decoder).accessToken
        var request = try Request.get("https://api.example.com/me?access_token=\(token)")
        request.head.headerFields[.authorization] = "Bearer \(token)"
        return try await connection.send(request).body.text(upTo: 1000)
    }

    static func answer(_ token: String) -> StubConnection.Answer {
        { request in
            request.head.method == .post
                ? Response(
                    status: .ok,
                    fields: [
                        .contentType: "application/json", .setCookie: "session=\(token)-new; Path=/; HttpOnly",
                        .contentLength: "77",
                    ], body: Body("{\"access_token\":\"\(token)\"}"))
                : Response(status: .ok, body: Body("hello, your token is \(token)"))
        }
    }

    @Test func `No planted secret is in the file, and the flow replays with other secrets`() async throws {
        let recording = try Cassette(at: folder.path("login.json"), mode: .append)
        let connection = CassetteConnection(recording, recording: StubConnection(Self.answer("t0psecret-token-value")))
        #expect(
            try await session(connection, password: "hunter2hunter2") == "hello, your token is t0psecret-token-value")
        try await recording.finish()

        let text = try folder.text("login.json")
        for secret in ["hunter2", "t0psecret"] { #expect(!text.contains(secret)) }
        #expect(text.contains("Bearer __token-1__"))
        #expect(text.contains("access_token=__token-1__"))
        #expect(text.contains(#""access_token": "__token-1__""#))
        #expect(text.contains("hello, your token is __token-1__"))
        #expect(text.contains("Path=/; HttpOnly"))
        #expect(!text.contains("\"77\""))

        let replaying = try Cassette(at: folder.path("login.json"), mode: .replay)
        let answer = try await session(CassetteConnection(replaying), password: "another-password")
        #expect(answer == "hello, your token is __token-1__")
        try await replaying.finish()
    }

    /// Asks with a token in paths, and queries and contents, before and while a field makes it known.
    func bot(_ connection: some Connection, token: String) async throws {
        let url = "https://api.example.com/bot\(token)"
        for method in ["getMe", "getUpdates"] {
            _ = try await connection.send(.get("\(url)/\(method)?to=\(token)&a=1"))
        }
        _ = try await connection.send(.post(url, body: Body("{\"text\":\"I am \(token)\",\"a\":1}")))
        _ = try await connection.send(.post("https://api.example.com/", body: Body("I am \(token), too")))
        _ = try await connection.send(.get("https://api.example.com/x", fields: [.authorization: "Bearer \(token)"]))
    }

    @Test func `A secret that is known only later is found where it stood before`() async throws {
        let recording = try Cassette(at: folder.path("bot.json"), mode: .append)
        let stub = StubConnection { _ in Response(status: .ok) }
        try await bot(CassetteConnection(recording, recording: stub), token: "123456:ABCdefGhIJKlm")
        try await recording.finish()
        #expect(!(try folder.text("bot.json")).contains("123456"))

        for token in ["123456:ABCdefGhIJKlm", "another", "__authorization-1__"] {
            let replaying = try Cassette(at: folder.path("bot.json"), mode: .replay)
            try await bot(CassetteConnection(replaying), token: token)
            try await replaying.finish()
        }
    }

    @Test func `A miss does not show a secret that no name marks`() async throws {
        let recording = try Cassette(at: folder.path("bot.json"), mode: .append)
        let stub = StubConnection { _ in Response(status: .ok) }
        try await bot(CassetteConnection(recording, recording: stub), token: "123456:ABCdefGhIJKlm")
        try await recording.finish()

        let token = "654321:XYZ"
        let requests: [Request] = [
            try .get("https://api.example.com/bot\(token)/getYou"),
            try .get("https://api.example.com/v2/bot\(token)/getMe?to=\(token)"),
            try .post("https://api.example.com/bot\(token)", body: Body("{\"text\":\"I am \(token)\",\"a\":2}")),
            try .post("https://api.example.com/bot\(token)", body: Body("{\"text\":\"You are \(token)\",\"a\":2}")),
            try .post("https://api.example.com/", body: Body("You are \(token), too")),
        ]
        for request in requests {
            let replaying = try Cassette(at: folder.path("bot.json"), mode: .replay)
            let miss = await #expect(throws: CassetteMissError.self) {
                try await CassetteConnection(replaying).send(request)
            }
            #expect(miss?.description.contains(token) == false, "\(miss?.description ?? "")")
        }
    }

    @Test func `Rules rewrite, skip, and take part in matching`() async throws {
        var rules = CassetteRules()
        rules.beforeRecording = { interaction in
            guard !interaction.request.url.hasSuffix("/health") else { return nil }
            var interaction = interaction
            interaction.response?.body.bytes = Data("rewritten".utf8)
            return interaction
        }
        rules.beforeMatching = { interaction in
            var interaction = interaction
            interaction.request.url = interaction.request.url.replacing("v1", with: "v2")
            return interaction
        }
        let recording = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let connection = CassetteConnection(
            recording, recording: StubConnection { _ in Response(status: .ok, body: "x") })
        for path in ["health", "v1/feed"] { _ = try await connection.send(.get("https://example.com/" + path)) }
        try await recording.finish()

        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        let response = try await CassetteConnection(replaying).send(.get("https://example.com/v2/feed"))
        #expect(try await response.body.text(upTo: 100) == "rewritten")
        try await replaying.finish()

        let appending = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let appended = CassetteConnection(appending, recording: StubConnection { _ in Response(status: .ok) })
        _ = try await appended.send(.get("https://example.com/v2/new"))
        try await appending.finish()
        #expect(try folder.text("a.json").contains("v1/feed"))
    }
}

private struct Login: Decodable {
    let accessToken: String
}
