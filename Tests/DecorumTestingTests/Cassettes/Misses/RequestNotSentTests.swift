import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A cassette does not send a request with a placeholder, nor one with an unsafe method where the rules refuse that.
@Suite(.timeLimit(.minutes(3))) struct RequestNotSentTests {
    private let folder = TemporaryFolder()
    private let stub = StubConnection { _ in Response(status: .ok, body: "live") }

    init() throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://example.com/"}, "response": {"status": 200, "text": "recorded"}},
            {"request": {"method": "PUT", "url": "https://example.com/a"}, "response": {"status": 200, "text": "recorded"}}]}
            """, to: "a.json")
    }

    /// Rules that refuse unsafe methods, with a live host in replay.
    private func rules(live: CassetteRules.Hosts = []) -> CassetteRules {
        var rules = CassetteRules(unused: .allow)
        rules.refusesUnsafeMethods = true
        rules.liveHosts = live
        return rules
    }

    @Test(arguments: [HTTPRequest.Method.post, .delete], [CassetteMode.verify, .replay, .append, .rewrite, .live])
    func `A request that may change the server is not sent, also to a live host in replay`(
        method: HTTPRequest.Method, mode: CassetteMode
    ) async throws {
        let before = try folder.text("a.json")
        let rules = rules(live: mode == .replay ? ["example.com"] : [])
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
        let connection = CassetteConnection(cassette, recording: stub)
        let error = await #expect(throws: RequestNotSentError.self) {
            try await connection.send(Request(method, "https://example.com/orders?token=abc123456", body: "x"))
        }
        #expect(error?.request == "\(method.rawValue) https://example.com/orders?token=__secret__")
        #expect(error?.reason == .unsafeMethod)
        #expect(stub.requests.isEmpty)
        _ = try await connection.send(.get("https://example.com/"))
        // The code between hides the error from the test, and not from the cassette.
        await #expect(throws: RequestNotSentError.self) { try await cassette.finish() }
        #expect(!stub.requests.contains { $0.head.method == method })
        #expect(try folder.text("a.json") == before)
    }

    @Test func `In replay, a live host is asked with a safe method, and a recorded request is played`() async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules(live: ["example.com"]))
        let connection = CassetteConnection(cassette, recording: stub)
        let played = try await connection.send(Request(.put, "https://example.com/a"))
        #expect(try await played.body.text(upTo: 100) == "recorded")
        let sent = try await connection.send(.get("https://example.com/new"))
        #expect(try await sent.body.text(upTo: 100) == "live")
        #expect(stub.requests.map(\.head.method) == [.get])
        try await cassette.finish()
    }

    // MARK: Placeholders

    static let tokens = ["sK3yT0ken" + "9fQ2xLmZ7", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlMTIz"]

    private func login(_ connection: some Connection) async throws -> String {
        let response = try await connection.send(.post("https://example.com/login", body: "hello"))
        let text = try await response.body.text(upTo: 1000)
        return String(text.dropFirst(#"{"access_token":""#.count).dropLast(2))
    }

    @Test(arguments: tokens) func `In append, a request with a played placeholder is not sent`(token: String)
        async throws
    {
        let server = StubConnection { request in
            guard request.head.path == "/login" else { return Response(status: .ok, body: "me") }
            return TestRecorder.json(#"{"access_token":"\#(token)"}"#)
        }
        let path = folder.path("login.json")
        let recording = try Cassette(at: path, mode: .once, rules: .silent)
        _ = try await login(CassetteConnection(recording, recording: server))
        try await recording.finish()

        let appending = try Cassette(at: path, mode: .append, rules: .silent)
        let connection = CassetteConnection(appending, recording: server)
        let played = try await login(connection)
        for request in [
            try Request.get("https://example.com/me", fields: [.authorization: "Bearer \(played)"]),
            try .get("https://example.com/me?access_token=\(played)"),
            try .post(
                "https://example.com/me", fields: [.contentType: "application/json"],
                body: Body(#"{"token":"\#(played)"}"#)),
        ] {
            let error = await #expect(throws: RequestNotSentError.self) { try await connection.send(request) }
            #expect(error?.reason == .placeholder(played))
            #expect(error?.description.contains("anew with `CASSETTE=rewrite swift test`") == true)
        }
        #expect(server.requests.count == 1)
        // A layer that hides the error does not hide it from the test.
        await #expect(throws: CassetteFailuresError.self) { try await appending.finish() }

        // A request with a credential of the test itself is sent and recorded.
        let own = try Cassette(at: path, mode: .append, rules: .silent)
        _ = try await CassetteConnection(own, recording: server)
            .send(.get("https://example.com/me", fields: [.authorization: "Bearer my-own-token-1x2y3z"]))
        try await own.finish()
        #expect(server.requests.count == 2)
    }
}
