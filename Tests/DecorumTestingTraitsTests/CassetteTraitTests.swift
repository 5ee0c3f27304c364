import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTestingTraits

@Suite(.cassettes(rules: CassetteRules(unused: .allow))) struct CassetteTraitTests {
    @Test(.cassette(mode: .append)) func `A test (in parentheses) has a cassette of its own name`() async throws {
        let cassette = try #require(Cassette.current)
        let name = "A-test--in-parentheses--has-a-cassette-of-its-own-name.json"
        #expect(cassette.file.path.hasSuffix("Cassettes/CassetteTraitTests/" + name))
        #expect(cassette.rules.unused == .allow)
        #expect(try CassetteConnection().layers.first?.settings.first?.value == "append")
    }

    @Test(.cassette("greeting", mode: .replay)) func `A recorded answer is replayed`() async throws {
        let response = try await CassetteConnection().send(.get("https://api.example.com/greeting"))
        #expect(try await response.body.text(upTo: 100) == "hello")
    }

    @Test(arguments: ["de", "en"]) func `Each case of a parameterised test has its own`(language: String) async throws {
        try await withCassette("greeting-\(language)", mode: .live) { cassette in
            #expect(cassette.file.lastPathComponent == "greeting-\(language).json")
            #expect(Cassette.current === cassette)
        }
    }

    @Test func `A name that is too long for a file system is shortened and stays unique`() async throws {
        let names = ["a", "b"].map { String(repeating: "Grüße ", count: 100) + $0 }
        var files: [String] = []
        for name in names { try await withCassette(name, mode: .live) { files.append($0.file.lastPathComponent) } }
        #expect(Set(files).count == 2)
        #expect(files.allSatisfy { $0.utf8.count <= 255 && $0.hasPrefix("Grüße-Grüße-") && $0.hasSuffix(".json") })
    }

    @Test func `Without a cassette there is no connection to it`() {
        #expect(throws: NoCassetteError.self) { try CassetteConnection() }
    }
}

/// The cases of a test that share a cassette, each with recordings of its own.
@Suite(.serialized, .cassettes()) struct ParameterisedTests {
    enum Plan { case free, paid }

    @Test(arguments: ["de", "fr"], [Plan.free, .paid])
    func `A case is known by its arguments`(language: String, plan: Plan) throws {
        let name = try #require(Test.currentRecorderName)
        #expect(name.hasSuffix("ParameterisedTests.A case is known by its arguments(\(language), .\(plan))"), "\(name)")
    }

    struct Account: Sendable { let user = "a", password = "Hunter2!x" }

    @Test(arguments: [String(repeating: "long ", count: 40), "ghp_0123456789abcdefghijABCDEFGHIJ456789"], [Account()])
    func `Arguments that may hold a secret are known by a checksum`(text: String, account: Account) throws {
        let name = try #require(Test.currentRecorderName)
        let arguments = try #require(name.split(separator: "(").last)
        #expect(arguments.wholeMatch(of: /#[0-9a-f]{1,8}, #[0-9a-f]{1,8}\)/) != nil, "\(name)")
    }

    @Test(.cassette("greetings", mode: .replay), arguments: ["de", "fr"])
    func `Each case plays its own recording`(language: String) async throws {
        let response = try await CassetteConnection().send(.get("https://api.example.com/greeting"))
        #expect(try await response.body.text(upTo: 100) == ["de": "Hallo", "fr": "Bonjour"][language])
    }
}

/// Tests that share a cassette, one after the other, when it is written anew.
@Suite struct SharedCassetteTraitTests {
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "decorum-shared-\(UInt64.random(in: .min ... .max))")
    private let cassettes = CassetteFolder()

    private static func answering(_ text: String) -> StubConnection {
        StubConnection { request in Response(status: .ok, body: Body(Data((text + (request.head.path ?? "")).utf8))) }
    }

    /// Runs a suite of tests that share one cassette with the default rules, and returns the texts of its issues.
    ///
    /// Each test sends requests for its paths; one of them may fail.
    private func runShared(
        _ name: String, mode: CassetteMode, _ tests: [[String]], failing: Int? = nil, isPartial: Bool = false
    ) async throws -> [String] {
        let stub = Self.answering("answer to ")
        return try await CollectedIssues { test in
            try await CassettesTrait(isPartial: isPartial).provideScope(for: test, testCase: nil) {
                for (number, paths) in tests.enumerated() {
                    try await CassetteTrait.cassette(name, mode: mode).provideScope(for: test, testCase: nil) {
                        for path in paths {
                            let response = try await CassetteConnection(recording: stub)
                                .send(.get("https://example.com" + path))
                            #expect(try await response.body.text(upTo: 100) == "answer to " + path)
                        }
                        if number == failing { Issue.record("failed") }
                    }
                }
            }
        }.texts
    }

    @Test func `Two tests on one name record and replay with the default rules`() async throws {
        defer { cassettes.remove("two") }
        let tests = [["/login", "/a"], ["/login", "/b"]]
        #expect(try await runShared("two", mode: .once, tests) == [])
        #expect(try await runShared("two", mode: .once, tests) == [])
        #expect(try await runShared("two", mode: .replay, tests.reversed()) == [])
        #expect(try await runShared("two", mode: .verify, tests) == [])
    }

    @Test func `An interaction that no test of the suite plays fails the suite`() async throws {
        defer { cassettes.remove("gone") }
        #expect(try await runShared("gone", mode: .once, [["/a", "/gone"], ["/b"]]) == [])
        for mode in [CassetteMode.replay, .verify] {
            let issues = try await runShared("gone", mode: mode, [["/a"], ["/b"]])
            #expect(issues.count == 1)
            let fault = mode == .verify ? "no longer requested" : "never played"
            #expect(
                issues.first?.contains("1 recorded interaction is \(fault):\n  GET https://example.com/gone") == true)
            // All of them belong to one test.
            let command = #"--filter 'SharedCassetteTraitTests.*An interaction that no test of the suite plays"#
            #expect(issues.first?.contains(command) == true)
        }
        // A test that is left out plays recordings of its own, and one that has failed may have played it.
        #expect(try await runShared("gone", mode: .replay, [["/a"], ["/b"]], isPartial: true).count == 1)
        let failed = try await runShared("gone", mode: .replay, [["/a"], ["/b"]], failing: 0)
        #expect(failed.count == 2 && !failed.contains { $0.contains("never played") }, "\(failed)")
    }

    @Test func `A test that fails in verify tells what has changed too, and so does the report`() async throws {
        defer { cassettes.remove("changed") }
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try await runShared("changed", mode: .once, [["/a", "/b"]]) == [])
        let report = CassetteReportFile(at: folder.appending(path: "report.json").path, isPartial: false)
        let changed = StubConnection { _ in Response(status: .notFound) }
        let found = try await CassetteDefaults.$current.withValue(CassetteDefaults(report: report)) {
            try await CollectedIssues { test in
                try await CassetteTrait.cassette("changed", mode: .verify).provideScope(for: test, testCase: nil) {
                    let response = try await CassetteConnection(recording: changed).send(.get("https://example.com/a"))
                    #expect(response.status == .ok)
                }
                try? await withCassette("changed", mode: .verify, filePath: #filePath, function: "other()") {
                    cassette in
                    _ = try await CassetteConnection(cassette, recording: changed).send(.get("https://example.com/a"))
                    throw CancellationError()
                }
            }
        }
        #expect(found.issues.count == 3 && found.errors.count == 2)
        for text in found.errors.map({ "\($0)" }) {
            #expect(text.contains("status  was 200, is 404"))
            // The test ended early, so the second request is no difference.
            #expect(!text.contains("not sent"))
        }
        let ended = try report.report()
        #expect(ended.cassettes.map(\.changed.count) == [2])
        #expect(ended.cassettes.first?.changed.first?.request == "GET https://example.com/a")
        #expect(
            ended.description.contains("  changed   GET https://example.com/a\n              status  was 200, is 404"))
    }

    @Test func `A part of a test takes a clock`() async throws {
        let clock = ImpatientClock()
        defer { cassettes.remove("events") }
        try cassettes.write(
            #"{"request": {"method": "GET", "url": "https://example.com/events"}, "response": {"status": 200,"#
                + #" "text": "data: 1\n\ndata: 2\n\n", "chunks": [[3600000, 9], [3600000, 9]]}}"#, to: "events")
        // Two hours pass at once.
        let rules = CassetteRules(timing: .recorded)
        let before = clock.now
        try await withCassette("events", rules: rules, mode: .replay, clock: clock) { cassette in
            let response = try await CassetteConnection(cassette).send(.get("https://example.com/events"))
            #expect(try await response.body.text(upTo: 100) == "data: 1\n\ndata: 2\n\n")
        }
        #expect(clock.now - before == .seconds(7200))
    }
}
