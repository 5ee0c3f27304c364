import Decorum
import DecorumTestingTraits
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The notes beside a test that records: of the file where a request has failed, and of recordings that it left.
@Suite struct RecordingNoteTests {
    private var folder: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Cassettes/RecordingNoteTests")
    }

    /// The issues of a test with a cassette, whose error is left out.
    private func issues(
        _ trait: CassetteTrait, _ body: @Sendable @escaping () async throws -> Void
    ) async throws -> [Issue] {
        let test = try #require(Test.current)
        let issues = Mutex<[Issue]>([])
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            issues.withLock { $0.append(issue) }
            return nil
        }
        try await collecting.provideScope(for: test, testCase: nil) {
            try? await trait.provideScope(for: test, testCase: nil, performing: body)
        }
        return issues.withLock { $0 }
    }

    private func send(_ paths: String...) async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: "x") }
        for path in paths {
            _ = try await CassetteConnection(recording: stub).send(.get("https://example.com" + path))
        }
    }

    @Test func `A test that sends nothing is told that it needs no cassette`() async throws {
        let found = try await issues(.cassette("nothing", mode: .once)) {}
        let note = try #require(found.first)
        #expect(found.count == 1 && note.severity == .warning)
        #expect("\(note)".contains("nothing.json, so the file was not written"), "\(note)")
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "nothing.json").path))
    }

    @Test(arguments: [CassetteMode.once, .verify]) func `A failed request names the file that was being recorded`(
        mode: CassetteMode
    ) async throws {
        defer { try? FileManager.default.removeItem(at: folder.appending(path: "down-\(mode.rawValue).json")) }
        let name = "down-\(mode.rawValue)"
        if mode == .verify { #expect(try await issues(.cassette(name, mode: .once)) { try await send("/") }.isEmpty) }
        let refusing = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        let found = try await issues(.cassette(name, mode: mode)) {
            _ = try await CassetteConnection(recording: refusing).send(.get("https://example.com/"))
        }
        let note = try #require(found.first { $0.severity == .warning })
        let text = "\(note)"
        if mode == .verify {
            #expect(text.contains("were sent to the server, to compare the answers with the cassette "), "\(text)")
        } else {
            #expect(text.contains("This test has no recording: the file "), "\(text)")
            #expect(
                text.contains("\(name).json does not exist. So the requests of this test were sent to "),
                "\(text)")
            #expect(text.contains("while the server answers, or restore the file if there was one. "), "\(text)")
        }
        let request = mode == .verify ? "that for https://example.com/" : "one"
        #expect(text.contains(", and \(request) was not answered (connectionRefused). "), "\(text)")
        #expect(!text.contains("stays as it was"), "\(text)")
        // The error of the test tells that the server is down, so there is no difference to tell of.
        #expect(found.count == 1)
    }

    @Test func `A renamed test whose server is down is told the recording with a similar name`() async throws {
        // A name that stands in this source file would be that of a test which exists.
        let (old, new) = ("weekly" + "News", "weekly" + "NewsOfToday")
        defer {
            for name in [old, new] {
                try? FileManager.default.removeItem(at: folder.appending(path: "\(name).json"))
            }
        }
        #expect(try await issues(.cassette(old, mode: .once)) { try await send("/") }.isEmpty)
        let refusing = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        let found = try await issues(.cassette(new, mode: .once)) {
            _ = try await CassetteConnection(recording: refusing).send(.get("https://example.com/"))
        }
        let text = "\(try #require(found.first { $0.severity == .warning }))"
        #expect(
            text.contains(
                "If the recording has another name, correct the name of the cassette in the test: weeklyNews.json in the same "
                    + "folder is similar."), "\(text)")
        let test = try #require(Test.current)
        let error = await #expect(throws: CassetteError.self) {
            try await CassetteTrait.cassette(new, mode: .replay).provideScope(for: test, testCase: nil) {}
        }
        #expect(
            error?.reason.contains("in the test: weeklyNews.json in the same folder is similar; else run the test ")
                == true)
    }

    @Test func `A new test of a shared file is told the similar name of a test that has not run`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "shared.json").path
        func run(_ tests: [String], answers: Bool = true) async throws -> [String] {
            let defaults = CassetteDefaults(shared: SharedCassettes(isPartial: false))
            var notes: [String] = []
            for test in tests {
                let stub = StubConnection { _ in
                    guard answers || test != tests.last else {
                        throw TransportError(.connectionRefused, at: .connecting)
                    }
                    return Response(status: .ok, body: "x")
                }
                let cassette = try defaults.cassette(at: path, rules: nil, mode: .once, test: test)
                _ = try? await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/"))
                if let note = cassette.noteOfFailedTest { notes.append(note) }
                if answers || test != tests.last { try await cassette.finish() }
            }
            return notes
        }
        _ = try await run(["latestNews", "latestNote"])
        let renamed = try #require(try await run(["latestNews", "latestNewe"], answers: false).last)
        #expect(
            renamed.hasSuffix("rename it in the file too: latestNote is similar, and has not run so far."),
            "\(renamed)")
        let added = try #require(try await run(["latestNews", "latestNote", "latestNewe"], answers: false).last)
        #expect(added.hasSuffix("If the test was renamed, rename it in the file too."), "\(added)")
    }

    @Test func `A test that fails keeps its own recordings of a shared file, which others may have written`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "shared.json").path
        /// Opens the file, lets another test write it, and fails.
        func note(_ mode: CassetteMode, isWritten: Bool = true) async throws -> String {
            let defaults = CassetteDefaults(shared: SharedCassettes(isPartial: true))
            let failing = try defaults.cassette(at: path, rules: nil, mode: mode, test: "failing")
            for cassette in [try defaults.cassette(at: path, rules: nil, mode: mode, test: "other"), failing] {
                let stub = StubConnection { _ in Response(status: .ok, body: "x") }
                _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/"))
                if cassette !== failing, isWritten { try await cassette.finish() }
            }
            return try #require(failing.noteOfFailedTest)
        }
        let absent = try await note(.once, isWritten: false)
        #expect(absent.contains("which does not exist yet, were not written. No file was written; they "), "\(absent)")
        let fresh = try await note(.once)
        #expect(fresh.contains("shared.json were not written. Nothing of this test was written; they are"), "\(fresh)")
        let recorded = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: path, rules: nil, mode: .once, test: "failing")
        let stub = StubConnection { _ in Response(status: .ok, body: "x") }
        _ = try await CassetteConnection(recorded, recording: stub).send(.get("https://example.com/"))
        try await recorded.finish()
        let kept = try await note(.rewrite)
        #expect(
            kept.contains(
                "not written. The earlier recordings of this test stay as they were; the new ones are written when"),
            "\(kept)")
    }

    @Test func `A test that verifies and fails without a failed request has no note`() async throws {
        defer { try? FileManager.default.removeItem(at: folder.appending(path: "sound.json")) }
        #expect(try await issues(.cassette("sound", mode: .once)) { try await send("/") }.isEmpty)
        let found = try await issues(.cassette("sound", mode: .verify)) {
            try await send("/")
            Issue.record("broken")
        }
        #expect(found.map(\.severity) == [.error])
    }

    @Test func `A test that fails tells that its recordings were not written`() async throws {
        defer { try? FileManager.default.removeItem(at: folder.appending(path: "kept.json")) }
        let fresh = try await issues(.cassette("kept", mode: .once)) {
            try await send("/")
            Issue.record("broken")
        }
        #expect(fresh.map(\.severity) == [.error, .warning])
        #expect("\(try #require(fresh.last))".contains("were not written. No file was written; they are"))

        #expect(try await issues(.cassette("kept", mode: .once)) { try await send("/") }.isEmpty)
        for mode in [CassetteMode.append, .rewrite] {
            let found = try await issues(.cassette("kept", mode: mode)) {
                try await send("/new")
                Issue.record("broken")
            }
            #expect(found.map(\.severity) == [.error, .warning])
            #expect("\(try #require(found.last))".contains("kept.json were not written. The file stays as it was"))
        }
        // A test that only plays has recorded nothing.
        let played = try await issues(.cassette("kept", mode: .append)) {
            try await send("/")
            Issue.record("broken")
        }
        #expect(played.map(\.severity) == [.error])
    }

    @Test func `A test that fails with requests in another order is told the first one that came early`() async throws {
        defer { try? FileManager.default.removeItem(at: folder.appending(path: "order.json")) }
        @Sendable func run(_ mode: CassetteMode, _ paths: [String]) async throws -> [Issue] {
            try await issues(.cassette("order", mode: mode)) {
                let stub = StubConnection { _ in Response(status: .ok, body: "x") }
                for path in paths {
                    let connection = try CassetteConnection(recording: stub)
                    _ = try await connection.send(
                        path == "/new" ? .post("https://example.com/new") : .get("https://example.com" + path))
                }
                if mode != .once { Issue.record("broken") }
            }
        }
        let recorded = ["/a", "/b", "/new", "/c"]
        #expect(try await run(.once, recorded).isEmpty)
        #expect(try await run(.replay, recorded).map(\.severity) == [.error])
        // Of two requests that change nothing, the order does not matter.
        #expect(try await run(.replay, ["/b", "/a", "/new", "/c"]).map(\.severity) == [.error])
        let found = try await run(.replay, ["/a", "/b", "/c", "/new"])
        #expect(found.map(\.severity) == [.error, .warning])
        let text = "\(try #require(found.last))"
        #expect(
            text.contains(
                "Request 3, GET https://example.com/c, was recorded behind POST https://example.com/new (line "),
            "\(text)")
        #expect(text.contains("), and now comes before it, so"), "\(text)")
        #expect(try await run(.append, recorded).map(\.severity) == [.error])
        let appended = try await run(.append, ["/a", "/b", "/c", "/new"])
        #expect(appended.map(\.severity) == [.error, .warning])
    }

    @Test func `Adding to a cassette tells of older recordings that the test no longer plays`() async throws {
        defer { try? FileManager.default.removeItem(at: folder.appending(path: "login.json")) }
        #expect(try await issues(.cassette("login", mode: .once)) { try await send("/login", "/me") }.isEmpty)
        let found = try await issues(.cassette("login", mode: .append)) { try await send("/v2/login", "/me") }
        #expect(found.map(\.severity) == [.warning])
        let text = "\(try #require(found.first))"
        #expect(text.contains("login.json keeps 1 older recording that this test no longer plays"), "\(text)")
        #expect(text.contains("\n  line "), "\(text)")
        #expect(text.contains("  GET https://example.com/login"), "\(text)")
        #expect(
            text.contains("`CASSETTE=rewrite swift test --filter '\\.RecordingNoteTests/.Adding to a cassette"),
            "\(text)")
        // The warning needs no new recording.
        let played = try await issues(.cassette("login", mode: .append)) { try await send("/me") }
        #expect(played.map(\.severity) == [.warning])
        #expect("\(try #require(played.first))".contains("login.json keeps 2 older recordings that this test"))
        // Rules that allow unused recordings ask for no warning.
        #expect(
            try await issues(.cassette("login", rules: CassetteRules(unused: .allow), mode: .append)) {
                try await send("/v2/login", "/me", "/new")
            }.isEmpty)
    }
}
