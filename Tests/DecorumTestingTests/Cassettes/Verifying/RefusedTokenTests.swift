import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// A token that only one of two runs refuses, and the requests that follow from its refusal.
@Suite(.timeLimit(.minutes(3))) struct RefusedTokenTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// Sends requests in a mode; a method and a path with the status and the content of its answer.
    private func play(
        _ mode: CassetteMode, _ exchanges: [(String, Int, String)], rules: CassetteRules = CassetteRules(),
        credentials: String? = "Bearer eyJ1c2VyIjoiYW5uYSJ9"
    ) async throws -> Cassette {
        let cassette = try recorder.cassette(mode, rules: rules)
        let left = Mutex(exchanges)
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { _ in
                let (_, status, text) = left.withLock { $0.removeFirst() }
                return Response(
                    status: .init(code: status), fields: [.contentType: "application/json"], body: Body(text))
            })
        for (line, _, _) in exchanges {
            let words = line.split(separator: " ")
            let method = try #require(HTTPRequest.Method(String(words[0])))
            var request = try Request(method, "https://example.com\(words[1])")
            request.head.headerFields[.authorization] = credentials
            _ = try await connection.send(request).body.text(upTo: 1 << 20)
        }
        return cassette
    }

    private let token = #"{"access_token":"eyJ1c2VyIjoiYW5uYSJ9","expires_in":3600}"#
    private var refreshed: [(String, Int, String)] {
        [
            ("POST /login", 200, token), ("GET /items", 401, "{}"), ("POST /token", 200, token),
            ("GET /items", 200, #"{"count":1}"#), ("GET /end", 200, "{}"),
        ]
    }
    private var direct: [(String, Int, String)] {
        [("POST /login", 200, token), ("GET /items", 200, #"{"count":1}"#), ("GET /end", 200, "{}")]
    }

    @Test(arguments: [CassetteRules.Order.any, .strict])
    func `A refused token that the server accepts now is a warning, with the requests that were not sent for it`(
        order: CassetteRules.Order
    ) async throws {
        var rules = CassetteRules()
        rules.order = order
        try await play(.once, refreshed, rules: rules).finish()
        let cassette = try await play(.verify, direct, rules: rules)
        try await cassette.finish()
        let note = try #require(cassette.noteOfFinishedTest)
        #expect(
            note.contains(
                "the recording holds a refusal of credentials (401), and the server accepts them now, so the repeated request "
                    + "(line "), "\(note)")
        #expect(!note.contains("note: "), "\(note)")
        #expect(note.contains(", and neither was POST https://example.com/token (line "), "\(note)")
    }

    @Test func `A server that asks for no credentials any more has changed`() async throws {
        try await play(.once, refreshed, credentials: nil).finish()
        let cassette = try await play(.verify, direct, credentials: nil)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(text.contains("\n    status  was 401, is 200\n"), "\(text)")
        #expect(text.contains("POST https://example.com/token"), "\(text)")
    }

    @Test(arguments: [CassetteRules.Order.any, .strict])
    func `A token that the server refuses earlier is one difference, with the requests that were sent for it`(
        order: CassetteRules.Order
    ) async throws {
        var rules = CassetteRules()
        rules.order = order
        try await play(.once, direct, rules: rules).finish()
        let cassette = try await play(.verify, refreshed, rules: rules)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(error?.drifts.count == 1, "\(text)")
        #expect(
            text.contains(
                "the server has refused the credentials (401), and the recording has no such refusal; the client has sent the "
                    + "request again after POST https://example.com/token, and it was accepted"), "\(text)")
        #expect(text.contains("\nfix: mend the server if it is meant to accept the first credentials; else "))
    }

    @Test(arguments: [CassetteRules.Order.any, .strict])
    func `A token that is refused earlier than in the recording is told with both refusals`(order: CassetteRules.Order)
        async throws
    {
        var rules = CassetteRules()
        rules.order = order
        let item = #"{"count":1}"#
        let recorded = [
            ("POST /login", 200, token), ("GET /items", 200, item), ("GET /items", 401, "{}"),
            ("POST /token", 200, token),
            ("GET /items", 200, item),
        ]
        let live = [
            ("POST /login", 200, token), ("GET /items", 401, #"{"error":"expired"}"#), ("POST /token", 200, token),
            ("GET /items", 200, item), ("GET /items", 200, item),
        ]
        try await play(.once, recorded, rules: rules).finish()
        let cassette = try await play(.verify, live, rules: rules)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(text.contains("the server has refused the credentials (401), and the recording has no such"), "\(text)")
        #expect(text.contains(#"\#n    content  {"error":"expired"}\#n"#), "\(text)")
        #expect(text.contains("the recording holds a refusal of credentials (401), and the server accepts"), "\(text)")
        #expect(!text.contains("status  was"), "\(text)")
    }

    @Test func `A new token that is refused too is told with the refusal`() async throws {
        try await play(.once, direct).finish()
        let exchanges = refreshed.enumerated().map { $0 == 3 ? ($1.0, 401, "{}") : $1 }
        let cassette = try await play(.verify, exchanges)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(
            text.contains("\n    status  was 200, is 401, so the server does not accept the credentials\n"), "\(text)")
        #expect(
            text.contains(
                "the client has sent it once more after POST https://example.com/token, and it was refused again"),
            "\(text)")
    }

    @Test func `A request that a test sends twice by itself is no retry`() async throws {
        let twice: [(String, Int, String)] = [("GET /items", 503, ""), ("GET /items", 200, "{}")]
        try await play(.once, twice).finish()
        let cassette = try await play(.verify, twice.map { ($0.0, 200, "{}") })
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(error?.drifts.count == 1 && text.contains("status  was 503, is 200"), "\(text)")
    }

    @Test(arguments: [CassetteRules.Order.any, .strict])
    func `The identifier in an answer without the recorded failure is known in later requests`(
        order: CassetteRules.Order
    ) async throws {
        var rules = CassetteRules()
        rules.order = order
        try await play(
            .once,
            [
                ("POST /items", 503, ""), ("POST /items", 201, #"{"id":"a1b2c3d4"}"#),
                ("GET /items/a1b2c3d4", 200, #"{"name":"one"}"#),
            ], rules: rules
        ).finish()
        let cassette = try await play(
            .verify,
            [("POST /items", 201, #"{"id":"e5f6a7b8"}"#), ("GET /items/e5f6a7b8", 200, #"{"name":"one"}"#)],
            rules: rules)
        try await cassette.finish()
        let note = try #require(cassette.noteOfFinishedTest)
        #expect(note.contains("a failure (503) that the server does not have now"), "\(note)")
    }

    @Test func `A token with another life is told where requests were sent for it`() async throws {
        try await play(.once, direct).finish()
        let short = token.replacing("3600", with: "2")
        let cassette = try await play(
            .verify,
            [
                ("POST /login", 200, short), ("POST /token", 200, short), ("GET /items", 200, #"{"count":1}"#),
                ("GET /end", 200, "{}"),
            ])
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(
            text.contains(
                "\n    fails no test by itself:\n      $.expires_in  was 3600, is 2, so a client asks for a new token sooner"
            ),
            "\(text)")
        #expect(text.contains("POST https://example.com/token\n    is not recorded"), "\(text)")
        #expect(text.hasPrefix("Requests of the test, and answers of the server, are no longer those"), "\(text)")
        #expect(text.contains("\nfix: mend the server if its tokens are not meant to have this life; else "), "\(text)")
    }

    @Test(
        arguments: [
            (
                #"{"expiresIn":900}"#, #"{"expiresIn":900000}"#,
                "$.expiresIn  was 900, is 900000, which may be in milliseconds now"
            ),
            (#"{"expiresIn":9000}"#, #"{"expiresIn":9}"#, "$.expiresIn  was 9000, is 9, which may be in seconds now"),
            (#"{"token":{"lifetime":60}}"#, #"{"token":{"lifetime":5}}"#, "$.token.lifetime  was 60, is 5"),
            (#"{"token_ttl":600}"#, #"{"token_ttl":60}"#, "$.token_ttl  was 600, is 60"),
            (#"{"dns":{"ttl":600}}"#, #"{"dns":{"ttl":60}}"#, nil),
            (#"{"token":1,"lifetimeValue":9}"#, #"{"token":1,"lifetimeValue":1}"#, nil),
            (#"{"expires_in":-1}"#, #"{"expires_in":3600}"#, nil),
            (#"{"expiresIn":900}"#, #"{"expiresIn":899}"#, nil),
            (#"{"expiresAt":1790000000}"#, #"{"expiresAt":3790000000}"#, nil),
            (#"{"token":1,"throttle":1}"#, #"{"token":1,"throttle":5}"#, nil),
        ] as [(String, String, String?)])
    func `The life of a token is found by any of its names`(recorded: String, live: String, words: String?) {
        let told = TokenLife.drift(from: Data(recorded.utf8), to: Data(live.utf8))
        #expect(told?.components(separatedBy: ", so")[0] == words)
    }
}
