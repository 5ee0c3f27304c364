import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Rules about what is sent, recorded and refused.
@Suite(.timeLimit(.minutes(3))) struct CassetteRuleTests {
    let folder = TemporaryFolder()
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_793_300_000))

    private func cassette(_ mode: CassetteMode, _ rules: CassetteRules) throws -> Cassette {
        try Cassette(at: folder.path("a.json"), mode: mode, rules: rules, clock: clock)
    }

    /// Sends requests to some paths; returns the answers, or the errors that were thrown, and the connection behind.
    private func send(
        _ urls: [String], _ mode: CassetteMode, _ rules: CassetteRules = CassetteRules(), answer: String = "live",
        method: HTTPRequest.Method = .get
    ) async throws -> (texts: [String], sent: Int) {
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Data(answer.utf8))) }
        let cassette = try cassette(mode, rules)
        let connection = CassetteConnection(cassette, recording: stub)
        var texts: [String] = []
        for url in urls {
            let request = try Request(method, url)
            texts.append(try await connection.send(request).body.text(upTo: 1 << 20))
        }
        try await cassette.finish()
        return (texts, stub.requests.count)
    }

    // Age

    @Test func `A recording that is too old fails the test that plays it`() async throws {
        _ = try await send(["https://example.com/a", "https://example.com/b"], .once)
        var rules = CassetteRules(unused: .allow)
        rules.expiry = .init(after: .seconds(30 * 86_400), .fail)
        clock.advance(by: .seconds(29 * 86_400))
        _ = try await send(["https://example.com/a"], .replay, rules)
        clock.advance(by: .seconds(2 * 86_400))
        let error = await #expect(throws: OutdatedRecordingsError.self) {
            try await send(["https://example.com/a"], .replay, rules)
        }
        #expect(error?.recordings == ["2026-10-29  GET https://example.com/a"])
        #expect(error?.description.contains("CASSETTE=rewrite") == true)
        _ = try await send([], .replay, rules)

        rules.expiry?.reaction = .warn
        let cassette = try cassette(.replay, rules)
        _ = try await CassetteConnection(cassette).send(.get("https://example.com/b"))
        #expect(cassette.outdated == [1])
        try await cassette.finish()
    }

    @Test(arguments: [CassetteMode.once, .append])
    func `A recording that is too old is recorded anew where the mode records`(mode: CassetteMode) async throws {
        var rules = CassetteRules()
        rules.expiry = .init(after: .seconds(30 * 86_400), .recordAnew)
        let urls = ["https://example.com/a", "https://example.com/b"]
        _ = try await send(urls, .once, rules, answer: "old")
        #expect(try await send(urls, mode, rules).sent == 0)

        clock.advance(by: .seconds(31 * 86_400))
        #expect(try await send(urls, .replay, rules).texts == ["old", "old"])
        // The answer of the server has not changed, and the recording counts as new nevertheless.
        #expect(try await send(urls, mode, rules, answer: "old").sent == 2)
        #expect(try await send(urls, mode, rules).sent == 0)
        #expect(try cassette(.replay, rules).interactions().map(\.request.url) == urls)

        clock.advance(by: .seconds(31 * 86_400))
        #expect(try await send(urls, mode, rules, answer: "new").texts == ["new", "new"])
        #expect(try await send(urls, .replay, rules).texts == ["new", "new"])
    }

    // Hosts

    @Test(arguments: [CassetteMode.once, .rewrite, .append, .replay, .verify])
    func `Requests to passed hosts are sent and not recorded`(mode: CassetteMode) async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://metrics.example.com/"},
            "response": {"status": 200, "text": "recorded"}}]}
            """, to: "a.json")
        var rules = CassetteRules(unused: .allow)
        rules.passedHosts = ["*.Example.com", "127.0.0.1"]
        let before = try folder.text("a.json")
        let urls = ["https://metrics.example.com/", "http://127.0.0.1:8080/x"]
        let (texts, sent) = try await send(urls, mode, rules)
        #expect(texts == ["live", "live"])
        #expect(sent == 2)
        if mode != .rewrite { #expect(try folder.text("a.json") == before) }
    }

    @Test func `In replay, only a live host is asked for what is not recorded`() async throws {
        _ = try await send(["https://example.com/a"], .once, answer: "recorded")
        var rules = CassetteRules()
        rules.liveHosts = ["example.com"]
        let (texts, sent) = try await send(["https://example.com/a", "https://example.com/b"], .replay, rules)
        #expect(texts == ["recorded", "live"])
        #expect(sent == 1)
        await #expect(throws: CassetteMissError.self) { try await send(["https://other.example.com/"], .replay, rules) }
    }

    @Test(arguments: [
        ("example.com", true), ("EXAMPLE.com", true), ("api.example.com", false), ("a.test.org", true),
        ("test.org", false), ("evil-test.org", false), ("::1", true), ("", false),
    ])
    func `A set of hosts knows names and domains`(host: String, isIn: Bool) {
        let hosts = CassetteRules.Hosts(["Example.com", "*.test.org", "::1"])
        #expect(hosts.contains(host) == isIn)
    }

    // Size

    @Test func `A cassette that is too large names the largest recordings, and leaves the file`() async throws {
        _ = try await send(["https://example.com/small"], .once)
        let before = try folder.text("a.json")
        var rules = CassetteRules()
        rules.sizeLimit = 10_000
        let error = await #expect(throws: CassetteError.self) {
            try await send(
                ["https://example.com/a", "https://example.com/b"], .append, rules,
                answer: String(repeating: "x", count: 6000))
        }
        let largest =
            "`rules.sizeLimit`:\n  6000 bytes  GET https://example.com/a\n  6000 bytes  GET https://example.com/b\n"
        #expect(error?.reason.contains(largest) == true, "\(error?.reason ?? "")")
        #expect(try folder.text("a.json") == before)

        // A file beside the cassette counts.
        let stub = StubConnection { _ in
            Response(status: .ok, fields: [.contentType: "image/png"], body: Body(Data(repeating: 0, count: 20_000)))
        }
        let cassette = try cassette(.append, rules)
        _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/image"))
        await #expect(throws: CassetteError.self) { try await cassette.finish() }
        #expect(!FileManager.default.fileExists(atPath: folder.path("a.tape")))
    }

    // Misses

    @Test func `A handler decides on a miss`() async throws {
        _ = try await send(["https://example.com/a"], .once)
        var rules = CassetteRules()
        rules.onMiss = { miss, request in
            if request.url.hasSuffix("/metrics") { return .answer(RecordedResponse(status: 204)) }
            return miss.request.contains("/optional") ? .tolerate : .fail
        }
        let cassette = try cassette(.replay, rules)
        let connection = CassetteConnection(cassette)
        _ = try await connection.send(.get("https://example.com/a"))
        #expect(try await connection.send(.get("https://example.com/metrics")).status == .noContent)
        await #expect(throws: CassetteMissError.self) {
            try await connection.send(.get("https://example.com/optional"))
        }
        try await cassette.finish()
        await #expect(throws: CassetteMissError.self) { try await connection.send(.get("https://example.com/other")) }
        #expect(cassette.failures.count == 1)
        await #expect(throws: CassetteMissError.self) { try await cassette.finish() }
    }

    @Test func `The report of a miss has both requests in full, without secrets`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "POST", "url": "https://example.com/a",
            "headers": {"Content-Type": "application/json"}, "json": {"note": "__token-1__", "page": 1}},
            "response": {"status": 200}}, {"request": {"method": "POST", "url": "https://example.com/b",
            "json": {"more": "recorded"}}, "response": {"status": 200}}]}
            """, to: "a.json")
        let token = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        func report(_ url: String, _ content: String) async throws -> String {
            let connection = CassetteConnection(try cassette(.replay, CassetteRules()))
            let miss = await #expect(throws: CassetteMissError.self) {
                try await connection.send(
                    .post(
                        url,
                        fields: [
                            .contentType: "application/json", .authorization: "Bearer s3cr3t-s3cr3t", .userAgent: token,
                        ], body: Body(Data(content.utf8))))
            }
            let report = try #require(miss).report
            for secret in ["s3cr3t", "hidden-by-place", String(token.suffix(12))] {
                #expect(!report.contains(secret), "\(report)")
            }
            return report
        }
        let first = try await report("https://example.com/a", #"{"note":"hidden-by-place","page":2}"#)
        #expect(first.contains("request 1\n\nPOST https://example.com/a"))
        #expect(first.contains("(35 bytes, not shown"))
        #expect(first.contains("interaction 1 of a.json"))
        let second = try await report("https://example.com/b", #"{"more":"visible","key":"\#(token)"}"#)
        #expect(second.contains("interaction 2 of a.json"))
        #expect(second.contains(#"{"more":"visible","key":"__"#))
    }
}

@Suite struct CassetteSecretsTests {
    let folder = TemporaryFolder()

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

/// Each mode writes the file that it says, and plays what is in it.
@Suite(.timeLimit(.minutes(3))) struct CassetteRecordingTests {
    private let recorder = TestRecorder()

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
}
