import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The order, the age and the owners of recordings in a file that several tests or processes write.
@Suite struct SharedRecordingTests: SharedRecording {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `An answer that a test adds comes after those that it has got`() async throws {
        try await run(.once, Course("other", ["/job": "done"]), Course("one", ["/job": "waiting"]))
        let added = Course("one", ["/job": "waiting", "/job": "done"])
        try await run(.append, added)
        try await run(.replay, added, Course("other", ["/job": "done"]))
    }

    @Test func `A recording that was cut short takes its turn when it is recorded again`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://example.com/job"}, "response": {"status": 200, "text": "wait"},
            "error": {"kind": "abandoned", "after": "body"}},
            {"request": {"method": "GET", "url": "https://example.com/job"}, "response": {"status": 200, "text": "done"}}
            ]}
            """, to: "shared.json")
        let course = Course("one", ["/job": "waiting", "/job": "done"])
        try await run(.append, course)
        try await run(.replay, course)
    }

    @Test func `Of two processes that record one test at the same time, the last one has it`() async throws {
        let path = folder.path("shared.json")
        func open() throws -> Cassette {
            try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
                at: path, rules: nil, mode: .once, test: "one")
        }
        let processes = [try open(), try open()]
        for (number, cassette) in processes.enumerated() {
            let stub = StubConnection { request in
                let isSame = request.head.path == "/same"
                return Response(status: .ok, body: Body(Data((isSame ? "same" : "answer \(number)").utf8)))
            }
            let connection = CassetteConnection(cassette, recording: stub)
            for path in ["/same", "/other"] { _ = try await connection.send(.get("https://example.com" + path)) }
        }
        for cassette in processes { try await cassette.finish() }
        #expect(
            summary(try Cassette(at: path, mode: .replay).interactions()) == ["/other answer 1 one", "/same same one"])
    }

    @Test func `Of recordings that two processes add without a suite, those with one answer are one`() async throws {
        let cassettes = try (0..<2).map { _ in try Cassette(at: folder.path("shared.json"), mode: .once) }
        for (cassette, answers) in zip(cassettes, [["1", "2"], ["2", "1"]]) {
            for answer in answers {
                let stub = StubConnection(Response(status: .ok, body: Body(Data(answer.utf8))))
                _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/a"))
            }
        }
        for cassette in cassettes { try await cassette.finish() }
        let recorded = try Cassette(at: folder.path("shared.json"), mode: .replay).interactions()
        #expect(summary(recorded) == ["/a 1 ", "/a 2 "])
    }

    @Test func `A rewrite of an unchanged server takes no answer of another test for one of its own`() async throws {
        let rules = CassetteRules.silent
        let path = folder.path("tokens.json")
        for mode in [CassetteMode.once, .rewrite] {
            let defaults = CassetteDefaults(rules: rules, shared: SharedCassettes(isPartial: true))
            for (test, count) in [("a", 1), ("b", 3)] {
                let cassette = try defaults.cassette(at: path, rules: nil, mode: mode, test: test)
                let stub = StubConnection { _ in Response(status: .ok) }
                let connection = CassetteConnection(cassette, recording: stub)
                // The placeholders of its tokens are others than those of the first test.
                if test == "b" {
                    _ = try await connection.send(.get("https://example.com/a?token=y7Rq2LmZ9sKd4TbVb9\(mode)"))
                }
                for number in 0..<count {
                    let token = "x7Rq2LmZ9sKd4TbV\(test)\(number)\(mode)"
                    _ = try await connection.send(
                        .get("https://example.com/me", fields: [.authorization: "Bearer \(token)"]))
                }
                try await cassette.finish()
            }
            let recorded = try Cassette(at: path, mode: .replay).interactions()
            #expect(recorded.map(\.tests) == [["b"], ["a"], ["b"], ["b"], ["b"]], "\(mode)")
        }
    }

    @Test func `In once, a test that has recorded nothing in a shared file records`()
        async throws
    {
        try await run(.once, Course("guest", ["/me": "nobody"]))
        let recorded = try await run(.once, Course("member", ["/me": "Ann"]), Course("guest", ["/me": "nobody"]))
        #expect(summary(recorded) == ["/me nobody guest", "/me Ann member"])
        try await run(.once, Course("member", ["/me": "Ann"]))
    }

    @Test func `In replay, the miss of a test that has recorded nothing tells so`() async throws {
        try await run(.once, Course("guest", ["/me": "nobody"]))
        let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: folder.path("shared.json"), rules: nil, mode: .replay, test: "member")
        let miss = await #expect(throws: CassetteMissError.self) {
            try await CassetteConnection(cassette).send(.get("https://example.com/other"))
        }
        #expect(
            miss?.description.hasSuffix(
                """
                  GET https://example.com/other
                the file has no recording of member, but those of tests that have not run so far:
                  guest
                fix: run member without `CI`, or with `CASSETTE=once`, to record it; if it was renamed, rename it in the file \
                too
                file: \(folder.path("shared.json"))
                """) == true, "\(miss?.description ?? "")")
    }

    @Test func `Only the tests whose own recordings are too old record anew`() async throws {
        var rules = CassetteRules()
        rules.expiry = .init(after: .seconds(30 * 86_400), .recordAnew)
        let one = Course("one", ["/a": "1"])
        let other = Course("other", ["/b": "1"])
        try await run(.once, day: 1, rules: rules, one, other)
        // A filtered run renews its test; the other one stays too old.
        try await run(.once, day: 100, rules: rules, isPartial: true, one)
        let opened = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: folder.path("shared.json"), rules: rules, mode: .once,
            clock: VirtualClock(date: Date(timeIntervalSince1970: 101 * 86_400)), test: "one")
        #expect(opened.mode == .replay)
        #expect(opened.recordedAt == Date(timeIntervalSince1970: 100 * 86_400))
        let recorded = try await run(.once, day: 101, rules: rules, one, other)
        let days: [Double?] = recorded.map { $0.recordedAt.map { $0.timeIntervalSince1970 / 86_400 } }
        #expect(days == [100, 101])
    }

    @Test func `The placeholders of other tests are found in a file of which rules leave out recordings`() async throws
    {
        func interaction(_ path: String, _ test: String, _ token: String) -> String {
            """
            {"request": {"method": "GET", "url": "https://example.com\(path)"},
            "response": {"status": 200, "headers": {"Content-Type": "application/json"}, "json": {"token": "\(token)"}},
            "tests": ["\(test)"]}
            """
        }
        try folder.write(
            "{\"cassette\": 1, \"interactions\": [\(interaction("/left", "one", "__token-1__")),\n"
                + "\(interaction("/a", "one", "__token-2__")),\n\(interaction("/b", "other", "__token-3__"))]}",
            to: "shared.json")
        var rules = CassetteRules.silent
        rules.beforeMatching = { $0.request.url.hasSuffix("/left") ? nil : $0 }
        let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: folder.path("shared.json"), rules: rules, mode: .append, test: "one")
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentType: "application/json"], body: #"{"token":"x7Rq2LmZ9sKd4TbV"}"#))
        _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/new"))
        try await cassette.finish()
        // Its own placeholders are taken, and those of the other test are not.
        let text = try folder.text("shared.json")
        #expect(text.components(separatedBy: "__token-3__").count == 3, "\(text)")
    }
}
