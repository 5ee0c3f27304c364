import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A login that is played has a placeholder for its token, which must not be sent to the server.
@Suite struct PlaceholderSentTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    static let tokens = ["sK3yT0ken" + "9fQ2xLmZ7", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlMTIz"]

    private func server(_ token: String) -> StubConnection {
        StubConnection { request in
            guard request.head.path == "/login" else { return Response(status: .ok, body: "me") }
            return Response(
                status: .ok, fields: [.contentType: "application/json"],
                body: Body(Data(#"{"access_token":"\#(token)"}"#.utf8)))
        }
    }

    private func login(_ connection: some Connection) async throws -> String {
        let response = try await connection.send(.post("https://example.com/login", body: "hello"))
        let text = try await response.body.text(upTo: 1000)
        return String(text.dropFirst(#"{"access_token":""#.count).dropLast(2))
    }

    @Test(arguments: tokens) func `In append, a request with a played placeholder is not sent`(token: String)
        async throws
    {
        let rules = CassetteRules.silent
        let server = server(token)
        let recording = try Cassette(at: folder.path("a.json"), mode: .once, rules: rules)
        _ = try await login(CassetteConnection(recording, recording: server))
        try await recording.finish()

        // In replay already, the miss does not advise to append.
        let replaying = CassetteConnection(try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules))
        let fields: HTTPFields = [.authorization: "Bearer \(try await login(replaying))"]
        let miss = await #expect(throws: CassetteMissError.self) {
            try await replaying.send(.get("https://example.com/me", fields: fields))
        }
        let text = try #require(miss).description
        #expect(
            text.contains(
                "; else if the change is meant, `CASSETTE=rewrite swift test` records the test anew\n"),
            "\(text)")

        let appending = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let connection = CassetteConnection(appending, recording: server)
        let played = try await login(connection)
        for request in [
            try Request.get("https://example.com/me", fields: [.authorization: "Bearer \(played)"]),
            try .get("https://example.com/me?access_token=\(played)"),
            try .post(
                "https://example.com/me", fields: [.contentType: "application/json"],
                body: Body(Data(#"{"token":"\#(played)"}"#.utf8))),
        ] {
            let error = await #expect(throws: PlaceholderSentError.self) { try await connection.send(request) }
            let text = try #require(error).description
            #expect(text.contains("`CASSETTE=rewrite swift test` sends"), "\(text)")
            #expect(text.contains("with \(played)\n"), "\(text)")
        }
        #expect(server.requests.count == 1)
        // A layer that hides the error does not hide it from the test.
        await #expect(throws: CassetteFailuresError.self) { try await appending.finish() }

        // A request with a credential of the test itself is sent and recorded.
        let own = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        _ = try await CassetteConnection(own, recording: server)
            .send(.get("https://example.com/me", fields: [.authorization: "Bearer my-own-token-1x2y3z"]))
        try await own.finish()
        #expect(server.requests.count == 2)
    }

    @Test func `A task that belongs to no test is told how to get the cassette`() {
        let error = #expect(throws: NoCassetteError.self) { try CassetteConnection() }
        #expect(error?.description.contains("`Task.detached`") == true)
        #expect(error?.description.contains("`Cassette.current`") == true)
    }
}
