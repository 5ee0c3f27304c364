import Decorum
import DecorumTesting
import DecorumTestingTraits
import Foundation
import HTTPTypes
import Testing

/// The file that a test with a cassette leaves, and the notes beside a test that records.
@Suite struct RecordingTests {
    private static let stub = StubConnection { _ in Response(status: .ok, body: "x") }
    private static let refusing = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
    private let folder = CassetteFolder()

    @Sendable private static func send(_ paths: String..., over connection: StubConnection = RecordingTests.stub)
        async throws
    {
        for path in paths {
            _ = try await CassetteConnection(recording: connection).send(.get("https://example.com" + path))
        }
    }

    @Test(arguments: [true, false])
    func `A test that fails leaves no file, and a warning does not keep it from being written`(isPart: Bool)
        async throws
    {
        defer { folder.remove("passing-\(isPart)") }
        func run(_ name: String, _ end: @Sendable @escaping () throws -> Void) async throws -> CollectedIssues {
            try await CollectedIssues { test in
                if isPart {
                    try await withCassette(name, mode: .append) { _ in
                        try await Self.send("/")
                        try end()
                    }
                } else {
                    let trait = CassetteTrait.cassette(name, mode: .append)
                    try await trait.provideScope(for: test, testCase: nil) {
                        try await Self.send("/")
                        try end()
                    }
                }
            }
        }
        let failed = try await run("failed-\(isPart)") { Issue.record("broken") }
        #expect(failed.severities == [.error, .warning])
        #expect(failed.texts.last?.contains("does not exist. Nothing was written, since the test has failed.") == true)
        #expect(try await run("failed-\(isPart)") { throw CancellationError() }.thrown is CancellationError)
        #expect(!folder.exists("failed-\(isPart)"))
        #expect(try await run("passing-\(isPart)") { Issue.record("look", severity: .warning) }.issues.count == 1)
        #expect(folder.exists("passing-\(isPart)"))
    }

    @Test(arguments: [CassetteMode.once, .verify]) func `A failed request names the file that was being recorded`(
        mode: CassetteMode
    ) async throws {
        let name = "down-\(mode.rawValue)"
        defer { folder.remove(name) }
        if mode == .verify {
            #expect(
                try await CollectedIssues(of: .cassette(name, mode: .once)) { try await Self.send("/") }.issues.isEmpty)
        }
        let found = try await CollectedIssues(of: .cassette(name, mode: mode)) {
            try await Self.send("/", over: Self.refusing)
        }
        // The error of the test tells that the server is down, so there is no difference to tell of.
        #expect(found.severities == [.warning])
        let text = try #require(found.texts.first)
        let words = mode == .verify ? "json; one was not" : "json, which does not exist; one was not"
        #expect(text.contains("\(name).\(words) answered (connectionRefused)."), "\(text)")
        #expect(text.contains("Nothing was written") == (mode == .once), "\(text)")
    }

    @Test func `A test that only plays, or verifies without a failed request, is not told when it fails`() async throws
    {
        defer { folder.remove("kept") }
        #expect(
            try await CollectedIssues(of: .cassette("kept", mode: .once)) { try await Self.send("/") }.issues.isEmpty)
        for mode in [CassetteMode.append, .verify] {
            let found = try await CollectedIssues(of: .cassette("kept", mode: mode)) {
                try await Self.send("/")
                Issue.record("broken")
            }
            #expect(found.severities == [.error])
        }
    }

    @Test func `Adding to a cassette tells of older recordings that the test no longer plays`() async throws {
        defer { folder.remove("login") }
        func run(
            _ mode: CassetteMode, rules: CassetteRules? = nil, _ paths: [String]
        ) async throws -> CollectedIssues {
            try await CollectedIssues(of: .cassette("login", rules: rules, mode: mode)) {
                for path in paths { try await Self.send(path) }
            }
        }
        #expect(try await run(.once, ["/login", "/me"]).issues.isEmpty)
        let found = try await run(.append, ["/v2/login", "/me"])
        #expect(found.severities == [.warning])
        let text = try #require(found.texts.first)
        #expect(text.contains("This test no longer plays 1 of its recordings in "), "\(text)")
        #expect(text.contains(":\n  GET https://example.com/login\nfix: record it anew with "), "\(text)")
        #expect(text.contains("`CASSETTE=rewrite swift test --filter 'RecordingTests.*Adding to a cassette"), "\(text)")
        // The warning needs no new recording, and rules that allow unused recordings ask for none.
        #expect(try await run(.append, ["/me"]).texts.first?.contains("no longer plays 2 of ") == true)
        #expect(
            try await run(.append, rules: CassetteRules(unused: .allow), ["/v2/login", "/me", "/new"]).issues.isEmpty)
    }

    @Test func `A recording that is too old is a warning where the rules ask for one`() async throws {
        defer { folder.remove("old") }
        try folder.write(
            #"{"request": {"method": "GET", "url": "https://example.com/"}, "response": {"status": 200}, "at": "2020-01-01"}"#,
            to: "old")
        for (reaction, severity) in [
            (CassetteRules.Expiry.Reaction.warn, Issue.Severity.warning), (.recordAnew, .warning), (.fail, .error),
        ] {
            var rules = CassetteRules()
            rules.expiry = .init(after: .seconds(86_400), reaction)
            let found = try await CollectedIssues(of: .cassette("old", rules: rules, mode: .replay)) {
                try await Self.send("/")
            }
            #expect(found.severities == [severity])
        }
    }

    @Test func `A recording that was never played is a warning where the rules ask for one`() async throws {
        defer { folder.remove("unused") }
        try folder.write(
            #"{"request": {"method": "GET", "url": "https://example.com/"}, "response": {"status": 200}}"#, to: "unused"
        )
        let found = try await CollectedIssues { _ in
            try await withCassette("unused", rules: CassetteRules(unused: .warn), mode: .replay) { _ in }
        }
        #expect(found.severities == [.warning])
        await #expect(throws: UnusedInteractionsError.self) {
            try await withCassette("unused", mode: .replay) { _ in }
        }
    }

    @MainActor @Test func `The body of a part runs where the test does, and returns anything`() async throws {
        final class Counter { var count = 0 }
        let counter = Counter()
        let result = try await withCassette("main", mode: .live) { cassette in
            MainActor.assertIsolated()
            await Task.yield()
            MainActor.assertIsolated()
            counter.count += 1
            #expect(Cassette.current === cassette)
            return counter
        }
        #expect(result === counter && counter.count == 1)
    }
}
