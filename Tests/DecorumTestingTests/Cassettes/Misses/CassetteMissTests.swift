import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

@Suite struct CassetteMissTests {
    let folder = TemporaryFolder()

    init() throws {
        try folder.write(
            """
            {
              "cassette": 1,
              "interactions": [
                {
                  "request": { "method": "GET", "url": "https://api.example.com/feed" },
                  "response": { "status": 200, "text": "news" }
                },
                {
                  "request": {
                    "method": "POST",
                    "url": "https://api.example.com/search?lang=de",
                    "headers": { "Content-Type": "application/json" },
                    "json": { "q": "Käse", "page": 1, "token": "__token-1__" }
                  },
                  "response": { "status": 204 }
                }
              ]
            }
            """, to: "feed.json")
    }

    func miss(_ request: Request, rules: CassetteRules = CassetteRules(), after played: [Request] = []) async throws
        -> String
    {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules)
        let connection = CassetteConnection(cassette)
        for request in played { _ = try await connection.send(request) }
        let error = await #expect(throws: CassetteMissError.self) { try await connection.send(request) }
        return (error?.description ?? "").replacing(folder.url.path + "/", with: "")
    }

    @Test func `A miss shows what is nearest and where it differs`() async throws {
        let request = try Request.post(
            "https://api.example.com/search?lang=de", fields: [.contentType: "application/json"],
            body: #"{"q":"Käse","page":2,"token":"s3cr3t-value"}"#)
        #expect(
            try await miss(request) == """
                No recording matches request 1.
                  POST https://api.example.com/search?lang=de
                closest: interaction 2, not played so far, 2 of 3 rules agree
                  method  same
                  url  same
                  body  differs
                    $.page  1  →  2
                fix: if the change is meant, record the test anew with `CASSETTE=rewrite swift test`; ignore a value that \
                differs in each run, as in `.url(ignoring: "time")` or `.body(ignoring: "**.id")`
                file: feed.json:8
                """)
    }

    @Test func `A miss does not show differences that the rules ignore`() async throws {
        let rules = CassetteRules(matching: [.method, .url(ignoring: "ts"), .body(ignoring: "**.token", "**.page")])
        let body = try await miss(
            .post(
                "https://api.example.com/search?ts=1&%6Cang=de", fields: [.contentType: "application/json"],
                body: #"{"q":"Tee","page":2,"token":"y"}"#), rules: rules)
        #expect(body.contains("  url  same\n  body  differs\n    $.q  \"Käse\"  →  \"Tee\"\nfix:"), "\(body)")
        let url = try await miss(
            .post(
                "https://api.example.com/search?ts=1&lang=en&%71=1", fields: [.contentType: "application/json"],
                body: #"{"q":"Käse","page":2}"#), rules: rules)
        #expect(!url.contains("       ts="), "\(url)")
        #expect(url.contains("now       lang=en\n    query     now has \"q=1\" in addition\n"), "\(url)")
    }

    /// A value with the shape of a secret under no secret name, put together so that no scanner finds it in this file.
    static let token = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"

    @Test(arguments: [
        (#"{"note":"x"}"#, #"{"note":"\#(token)"}"#), (#"{"note":"\#(token)"}"#, #"{"note":"x"}"#),
        (#"{"note":"x"}"#, #"{"note":"a \#(token) that is in a longer text"}"#), (#"{"a":1}"#, #"{"\#(token)":1}"#),
        (#"{"note":"x"}"#, #"{"note":"-----BEGIN RSA PRIVATE KEY-----\n\#(token)\#(token)"}"#),
        ("a note", "a \(token)"), ("a \(token)", "a note"), ("\(token)", "\(token)1"),
    ])
    func `A miss does not show a secret that is one by its shape`(recorded: String, live: String) async throws {
        func request(_ body: String) throws -> Request {
            try .post("https://example.com/", fields: [.contentType: "text/plain"], body: Body(Data(body.utf8)))
        }
        var rules = CassetteRules()
        rules.allowedSecrets = [.kind(SecretKind("GitHub token")), .kind(.privateKey)]
        let cassette = try Cassette(at: folder.path("secret.json"), mode: .append, rules: rules)
        _ = try await CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            .send(request(recorded))
        try await cassette.finish()

        let replaying = try Cassette(at: folder.path("secret.json"), mode: .replay)
        let miss = await #expect(throws: CassetteMissError.self) {
            try await CassetteConnection(replaying).send(request(live))
        }
        let text = try #require(miss).description
        for length in [8, 20] { #expect(!text.contains(Self.token.prefix(length).suffix(8)), "\(text)") }
        #expect(text.contains("body  differs"))
    }

    @Test(arguments: [
        (
            "application/json", #"{"password":"hunter2","page":1}"#, #"{"page":1}"#,
            #"$.password  "__password-1__"  →  this request has none"#
        ),
        (
            "application/x-www-form-urlencoded", "password=hunter2&page=1", "page=1",
            "field password  __password-1__  →  this request has none"
        ),
        (
            "application/json", #"{"password":"hunter2"}"#, #"{"password":{"old":"mango-42"}}"#,
            #"$.password  "__password-1__"  →  an object"#
        ),
    ])
    func `A miss shows the placeholders that the file has`(
        mediaType: String, recorded: String, live: String, line: String
    ) async throws {
        let stub = StubConnection(Response(status: .ok))
        func request(_ body: String) throws -> Request {
            try .post("https://api.example.com/login", fields: [.contentType: mediaType], body: Body(body))
        }
        let recording = try Cassette(at: folder.path("shown.json"), mode: .once, rules: .silent)
        _ = try await CassetteConnection(recording, recording: stub).send(request(recorded))
        try await recording.finish()
        #expect(try folder.text("shown.json").contains("__password-1__"))
        let replaying = try Cassette(at: folder.path("shown.json"), mode: .replay)
        let miss = try #require(
            await #expect(throws: CassetteMissError.self) {
                try await CassetteConnection(replaying).send(request(live))
            })
        #expect(miss.description.contains(line), "\(miss)")
        let nearest = try #require(miss.report.split(separator: "\n----\n").last)
        #expect(nearest.contains("__password-1__") && !nearest.contains("__secret__"), "\(miss.report)")
        #expect(!miss.report.contains("mango"), "\(miss.report)")
    }

    @Test func `A miss shows no secret that stands in a file by mistake`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "POST", "url": "https://example.com/login",
            "json": {"password": "hunter2", "page": 1}}, "response": {"status": 200}}]}
            """, to: "mistake.json")
        let error = await #expect(throws: CassetteMissError.self) {
            try await CassetteConnection(Cassette(at: folder.path("mistake.json"), mode: .replay)).send(
                .post("https://example.com/login", fields: [.contentType: "application/json"], body: #"{"page":1}"#))
        }
        #expect(error?.description.contains(#"$.password  "__secret__"  →  this request has none"#) == true)
        #expect(error?.report.contains("hunter2") == false)
    }

    @Test func `Unplayed and drifted interactions are reported without secrets`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/\(Self.token)"},
            "response": {"status": 200, "json": {"a": 1}}}]}
            """, to: "secret.json")
        let unused = await #expect(throws: UnusedInteractionsError.self) {
            try await Cassette(at: folder.path("secret.json"), mode: .replay).finish()
        }
        #expect(unused?.requests == ["GET https://example.com/__secret__"])

        let verifying = try Cassette(at: folder.path("secret.json"), mode: .verify)
        let stub = StubConnection(Response(status: .ok, body: Body(Data(#"{"a":1,"\#(Self.token)":1}"#.utf8))))
        _ = try await CassetteConnection(verifying, recording: stub)
            .send(.get("https://example.com/\(Self.token)")).body.data(upTo: 1000)
        let drift = await #expect(throws: CassetteDriftError.self) { try await verifying.finish() }
        #expect(drift?.description.contains(Self.token.prefix(12)) == false)
        #expect(drift?.drifts.first?.changes == ["$.__secret__  is new: a number"])
    }

    @Test(arguments: [(1, "1"), (2, "1, 2"), (9, "1, 2, 3, 4, 5, 6, …")])
    func `A repeat tells of all that are played`(count: Int, numbers: String) async throws {
        let interaction = #"{"request": {"method": "GET", "url": "https://a.example/"}, "response": {"status": 200}}"#
        let list = Array(repeating: interaction, count: count).joined(separator: ",\n")
        try folder.write(#"{"cassette": 1, "interactions": [\#(list)]}"#, to: "feed.json")
        let request = try Request.get("https://a.example/")
        let text = try await miss(request, after: Array(repeating: request, count: count))
        let words = count == 1 ? "interaction 1 matches" : "interactions \(numbers) match"
        #expect(text.contains("\n\(words), but the test sends the request once more; played for request"), "\(text)")
        #expect(
            text.contains(" \(numbers)\nfix: ") && text.contains("`rules.repeats = .last`\nfile: feed.json:"), "\(text)"
        )
    }

    @Test func `An interaction that was never played fails the run`() async throws {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay)
        _ = try await CassetteConnection(cassette).send(.get("https://api.example.com/feed"))
        let error = await #expect(throws: UnusedInteractionsError.self) { try await cassette.finish() }
        #expect(error?.requests == ["POST https://api.example.com/search?lang=de"])
        #expect(cassette.unplayed == [1])
        let text = try #require(error).description
        #expect(text.contains("feed.json, 1 recorded interaction is never played:\n  POST https://"), "\(text)")
        #expect(
            text.hasSuffix("without them: `CASSETTE=rewrite swift test`; or set `rules.unused = .allow`"), "\(text)")
        let tolerant = try Cassette(
            at: folder.path("feed.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        try await tolerant.finish()
    }
}

/// Code between a test and its cassette hides errors; the cassette does not forget them.
@Suite(.timeLimit(.minutes(3))) struct SwallowedMissTests {
    let folder = TemporaryFolder()

    init() throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/feed"},
            "response": {"status": 200, "headers": {"Cache-Control": "max-age=0"}, "text": "news"}}]}
            """, to: "feed.json")
    }

    private func cassette() throws -> Cassette { try Cassette(at: folder.path("feed.json"), mode: .replay) }

    @Test func `A miss that somebody swallows is thrown at the end`() async throws {
        let cassette = try cassette()
        let connection = CassetteConnection(cassette)
        _ = try await connection.send(.get("https://example.com/feed"))
        _ = try? await connection.send(.get("https://example.com/new"))
        let miss = await #expect(throws: CassetteMissError.self) { try await cassette.finish() }
        #expect(miss?.request == "GET https://example.com/new")
        #expect(miss?.number == 2)
    }

    @Test(arguments: [true, false])
    func `A miss behind a cache fails the test, also where the cache answers in its place`(isUnreachable: Bool)
        async throws
    {
        let cassette = try cassette()
        var policy = CachingPolicy()
        // By default, a cache does not take a miss for a server that cannot be reached.
        if isUnreachable { policy.meansServerNotReached = { _ in true } }
        let connection = CassetteConnection(cassette).caching(in: MemoryResponseStore(), policy: policy)
        _ = try await connection.send(.get("https://example.com/feed")).body.text(upTo: 100)
        // The stored response is stale, and the only recording is played.
        let answer = try? await connection.send(.get("https://example.com/feed")).body.text(upTo: 100)
        #expect(answer == (isUnreachable ? "news" : nil))
        await #expect(throws: CassetteMissError.self) { try await cassette.finish() }
    }

    @Test func `Several misses are all told, and the first ones in full`() async throws {
        let cassette = try cassette()
        let connection = CassetteConnection(cassette).retrying(clock: ImpatientClock())
        for number in 1...7 { _ = try? await connection.send(.get("https://example.com/\(number)")) }
        let error = await #expect(throws: CassetteFailuresError.self) { try await cassette.finish() }
        #expect(error?.failures.count == 7)
        let text = try #require(error).description
        #expect(text.hasPrefix("7 requests failed at the cassette "))
        #expect(text.contains("GET https://example.com/5") && !text.contains("GET https://example.com/6"))
        #expect(text.hasSuffix("and 2 more"))
    }
}

/// The recording that a miss shows.
@Suite struct NearestRecordingTests {
    private let recorder = TestRecorder()

    private func get(_ target: String) throws -> Request { try .get("https://example.com" + target) }

    @Test(
        arguments: [
            // A query with an item in addition is nearer than one with another value.
            (
                ["/login", "/items", "/items?page=2", "/items?page=3"], 1, "/items?per_page=2", 2,
                "    query     now has \"per_page=2\" in addition\n"
            ),
            // Another value of an item is nearer than an item in addition.
            (
                ["/items?per_page=2", "/items?page=3&per_page=2", "/items?tag=a&tag=b"], 0, "/items?per_page=2&page=4",
                2,
                "    recorded  page=3\n    now       page=4\n"
            ),
            (
                ["/items?page=1&sort=down"], 0, "/items?sort=up", 1,
                "    query     the recording has \"page=1\" in addition\n    recorded  sort=down\n    now       sort=up\n"
            ),
            // Of recordings that are equally near, the next one in order that was not played.
            (["/items?page=1", "/items?page=2", "/items?page=3"], 1, "/items?page=9", 2, ""),
            // A path that has changed at its start is near by its end.
            (["/items?page=2&per_page=3", "/items?per_page=3"], 0, "/v2/items?per_page=3", 2, ""),
        ] as [([String], Int, String, Int, String)])
    func `The recording with the most similar URL is shown`(
        recorded: [String], played: Int, live: String, nearest: Int, lines: String
    ) async throws {
        let text = try await recorder.miss(get(live), recorded: recorded.map(get), played: played)
        #expect(text.contains("closest: interaction \(nearest), not played so far, 2 of 3 rules agree"), "\(text)")
        #expect(lines.isEmpty || text.contains("\n" + lines), "\(text)")
    }

    @Test func `A path that no recording has is told, and so is another origin`() async throws {
        let absence = "\nno recording has this method and path\nclosest: interaction 1, not played so far"
        #expect(try await recorder.miss(get("/me"), recorded: [get("/items/1")]).contains("/me" + absence))
        let method = try Request.put("https://example.com/notes/1", body: "x")
        let patch = try Request.patch("https://example.com/notes/1", body: "x")
        #expect(try await recorder.miss(patch, recorded: [method]).contains(absence))
        #expect(
            !(try await recorder.miss(get("/items/1?a=b"), recorded: [get("/items/1")]).contains("no recording has")))
        let elsewhere = try Request.get("http://127.0.0.1:40617/items?b=2&a=1")
        let here = try Request.get("http://127.0.0.1:45555/items?a=1&b=2")
        let text = try await recorder.miss(here, recorded: [elsewhere])
        #expect(
            text.contains("\nthe recorded request went to another origin, which `.pathAndQuery` in place"), "\(text)")
    }
}

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
