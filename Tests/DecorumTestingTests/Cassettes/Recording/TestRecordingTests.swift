import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A cassette that the tests of a suite share: each test has its own recordings in it.
@Suite struct TestRecordingTests: SharedRecording {
    let folder = TemporaryFolder()

    @Test func `Equal requests with other answers are kept, and each test plays its own`() async throws {
        let guest = Course("guest", ["/me": "nobody", "/feed": "news"])
        let member = Course("member", ["/me": "Ann", "/feed": "news"])
        let recorded = try await run(.once, guest, member)
        #expect(summary(recorded) == ["/feed news guest", "/feed news member", "/me nobody guest", "/me Ann member"])
        try await run(.replay, guest, member)
        try await run(.replay, member, guest)
        try await run(.verify, member, guest)
    }

    @Test func `A rewrite of some tests keeps the recordings of all others`() async throws {
        let kept = Course("kept", ["/a": "1", "/both": "x"])
        try await run(.once, day: 1, kept, Course("changed", ["/a": "1", "/both": "x", "/gone": "y"]))
        let recorded = try await run(.rewrite, day: 2, Course("changed", ["/a": "2", "/both": "x"]))
        #expect(summary(recorded) == ["/a 2 changed", "/a 1 kept", "/both x changed", "/both x kept"])
        #expect(recorded.map { $0.recordedAt?.timeIntervalSince1970 } == [2 * 86_400, 86_400, 86_400, 86_400])
        try await run(.replay, kept, Course("changed", ["/a": "2", "/both": "x"]))
    }

    @Test func `Logins with the same answer or another one keep their number and their order in each rewrite`()
        async throws
    {
        func courses(_ times: [String]) -> [Course] {
            zip(["a", "b", "c"], times).map { Course($0, ["/login": "at \($1)"]) }
        }
        for (times, order) in [
            (["1", "1", "1"], [0, 1, 2]), (["2", "3", "3"], [2, 0, 1]), (["4", "4", "5"], [1, 2, 0]),
        ] {
            let courses = courses(times)
            let recorded = try await run(.rewrite, courses[order[0]], courses[order[1]], courses[order[2]])
            #expect(recorded.map(\.tests) == [["a"], ["b"], ["c"]])
        }
    }

    @Test func `An interaction that an older file has for several tests stays theirs, in its place`() async throws {
        func interaction(_ answer: String, _ tests: String) -> String {
            #"{"request": {"method": "GET", "url": "https://example.com/job"}, "response": {"status": 200, "text": "#
                + #""\#(answer)"}, "tests": [\#(tests)]}"#
        }
        let older = [interaction("waiting", #""b""#), interaction("done", #""a", "b""#)].joined(separator: ",\n")
        try folder.write(#"{"cassette": 1, "interactions": [\#(older)]}"#, to: "shared.json")
        let waiting = Course("b", ["/job": "waiting", "/job": "done"])
        try await run(.replay, waiting)
        let recorded = try await run(.rewrite, waiting, Course("c", ["/job": "done"]))
        #expect(summary(recorded) == ["/job waiting b", "/job done a,b", "/job done c"])
    }

    @Test func `Processes that rewrite one file one after the other replace only their own tests`() async throws {
        try await run(.once, Course("one", ["/a": "1"]), Course("other", ["/a": "1", "/b": "1"]))
        // Each call has a suite of its own, as another process has.
        try await run(.rewrite, Course("one", ["/a": "2"]))
        let recorded = try await run(.rewrite, Course("other", ["/a": "3", "/b": "3"]))
        #expect(summary(recorded) == ["/a 2 one", "/a 3 other", "/b 3 other"])
    }

    @Test func `Recording an unchanged server again changes no byte`() async throws {
        let courses: [Course] = [
            Course("one", ["/a": "1", "/b": "1", "/a": "2"]), Course("other", ["/a": "2", "/a": "1", "/c": "1"]),
        ]
        try await run(.once, day: 1, courses[0], courses[1])
        let before = try folder.text("shared.json")
        try await run(.rewrite, day: 2, courses[0], courses[1])
        #expect(try folder.text("shared.json") == before)
        try await run(.rewrite, day: 3, courses[1], courses[0])
        #expect(try folder.text("shared.json") == before)
    }

    @Test func `Recordings of no test are replaced by the first test that makes their requests`() async throws {
        let interactions = ["/a", "/b"].map { path in
            #"{"request": {"method": "GET", "url": "https://example.com\#(path)"}, "response": {"status": 200, "text": "old"}}"#
        }
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ","))]}"#, to: "shared.json")
        try await run(.replay, Course("one", ["/a": "old"]), Course("other", ["/b": "old"]))
        // In a filtered run, other tests may play them; the test itself has its own answer first.
        let filtered = try await run(.rewrite, isPartial: true, Course("one", ["/a": "newer"]))
        #expect(summary(filtered) == ["/a old ", "/a newer one", "/b old "])
        try await run(.replay, rules: CassetteRules(unused: .allow), Course("one", ["/a": "newer"]))
        let recorded = try await run(.rewrite, Course("one", ["/a": "new"]))
        #expect(summary(recorded) == ["/a new one", "/b old "])
    }

    @Test func `An archive keeps the tests of its recordings`() async throws {
        let defaults = CassetteDefaults(shared: SharedCassettes(isPartial: true))
        for test in ["one", "other"] {
            let cassette = try defaults.cassette(
                at: folder.path("shared.har"), rules: nil, mode: .append, test: test)
            let stub = StubConnection(Response(status: .ok, body: Body(Data(test.utf8))))
            _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/"))
            try await cassette.finish()
        }
        let read = try Cassette(at: folder.path("shared.har"), mode: .replay).interactions()
        #expect(read.map(\.tests) == [["one"], ["other"]])
    }

    @Test func `An interaction that no test plays is reported with its line and its test`() async throws {
        try await run(.once, Course("one", ["/a": "1", "/gone": "1"]))
        let shared = SharedCassettes(isPartial: false)
        let cassette = try CassetteDefaults(shared: shared).cassette(
            at: folder.path("shared.json"), rules: nil, mode: .replay, test: "one")
        _ = try await CassetteConnection(cassette).send(.get("https://example.com/a"))
        try await cassette.finish()
        let text = try #require(shared.unused().first).description
        #expect(text.contains("GET https://example.com/gone  (line 16, recorded by one)"), "\(text)")
        #expect(text.contains("`CASSETTE=rewrite swift test --filter 'one'`"))
    }

    @Test func `An answer that a test adds comes after its earlier answers`() async throws {
        try await run(.once, Course("other", ["/job": "done"]), Course("one", ["/job": "waiting"]))
        let added = Course("one", ["/job": "waiting", "/job": "done"])
        try await run(.append, added)
        try await run(.replay, added, Course("other", ["/job": "done"]))
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
        // Its own placeholders are taken, and the other test's are not.
        let text = try folder.text("shared.json")
        #expect(text.components(separatedBy: "__token-3__").count == 3, "\(text)")
    }
}

/// The tests of a suite write one file, each when it ends: at the cost of what it adds, and losing nothing.
@Suite(.timeLimit(.minutes(3))) struct SuiteCostTests {
    let folder = TemporaryFolder()

    private func record(_ test: String, _ paths: [String], in defaults: CassetteDefaults) async throws {
        let cassette = try defaults.cassette(at: folder.path("shared.json"), rules: nil, mode: .once, test: test)
        let stub = StubConnection { _ in Response(status: .ok, body: "a") }
        for path in paths {
            _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com" + path))
        }
        try await cassette.finish()
    }

    private func recorded() throws -> [Interaction] {
        try Cassette(at: folder.path("shared.json"), mode: .replay).interactions()
    }

    @Test func `A test that ends examines no recorded request that it has not made itself`() async throws {
        let count = Mutex(0)
        let probe = MatchingRule("probe") { _ in
            count.withLock { $0 += 1 }
            return ""
        }
        let rules = CassetteRules(matching: [.method, .url, .body, probe])
        let defaults = CassetteDefaults(rules: rules, shared: SharedCassettes(isPartial: true))
        for test in 0..<30 { try await record("test\(test)", ["/\(test)/a", "/\(test)/b"], in: defaults) }
        let before = count.withLock { $0 }
        try await record("last", ["/last"], in: defaults)
        // The number of keys does not grow with the number of tests; each of sixty requests had one before.
        #expect(count.withLock { $0 } - before < 20)
        #expect(try recorded().count == 61)
    }

    @Test func `Parallel tests of two suites, of which some are cancelled, lose nothing that was finished`()
        async throws
    {
        let suites = (0..<2).map { _ in CassetteDefaults(shared: SharedCassettes(isPartial: true)) }
        await withTaskGroup { group in
            for (number, suite) in suites.enumerated() {
                for test in 0..<20 {
                    group.addTask {
                        let task = Task { try await record("test\(number)-\(test)", ["/\(number)/\(test)"], in: suite) }
                        if test.isMultiple(of: 5) { task.cancel() }
                        _ = await task.result
                    }
                }
            }
        }
        let finished = Set(try recorded().flatMap(\.tests))
        let expected = (0..<2).flatMap { number in
            (0..<20).filter { !$0.isMultiple(of: 5) }.map { "test\(number)-\($0)" }
        }
        #expect(finished.isSuperset(of: expected))
    }
}

/// The requests that a test of a suite sends, and the answers of the server.
struct Course {
    let test: String
    let exchanges: [(path: String, answer: String)]
    var fails = false

    init(_ test: String, _ exchanges: KeyValuePairs<String, String>, fails: Bool = false) {
        self.test = test
        self.exchanges = exchanges.map { ($0.key, $0.value) }
        self.fails = fails
    }
}

/// Records and replays a cassette that the tests of a suite share.
protocol SharedRecording {
    var folder: TemporaryFolder { get }
}

extension SharedRecording {
    /// Runs tests one after the other with one cassette, and returns its interactions.
    @discardableResult func run(
        _ mode: CassetteMode, day: Int = 1, rules: CassetteRules = CassetteRules(), isPartial: Bool = false,
        _ courses: Course...
    ) async throws -> [Interaction] {
        let defaults = CassetteDefaults(shared: SharedCassettes(isPartial: isPartial))
        let clock = VirtualClock(date: Date(timeIntervalSince1970: Double(day) * 86_400))
        for course in courses {
            let cassette = try defaults.cassette(
                at: folder.path("shared.json"), rules: rules, mode: mode, clock: clock, test: course.test)
            for (path, answer) in course.exchanges {
                let stub = StubConnection(Response(status: .ok, body: Body(Data(answer.utf8))))
                let response = try await CassetteConnection(cassette, recording: stub)
                    .send(.get("https://example.com" + path))
                #expect(try await response.body.text(upTo: 100) == answer, "\(course.test), \(path)")
            }
            if !course.fails { try await cassette.finish() }
        }
        return try Cassette(at: folder.path("shared.json"), mode: .replay).interactions()
    }

    func summary(_ interactions: [Interaction]) -> [String] {
        interactions.map { interaction in
            let path = interaction.request.url.replacing("https://example.com", with: "")
            let answer = String(decoding: interaction.response?.body.bytes ?? Data(), as: UTF8.self)
            return "\(path) \(answer) \(interaction.tests.joined(separator: ","))"
        }
    }
}
