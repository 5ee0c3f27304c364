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
        let purpose = mode == .verify ? "to compare the answers with" : "to record"
        #expect("\(note)".contains("were sent to the server, \(purpose) the cassette "), "\(note)")
        #expect("\(note)".contains(", and one was not answered. "), "\(note)")
        #expect("\(note)".contains("\(name).json, which does not exist yet, and") == (mode == .once), "\(note)")
        #expect(!"\(note)".contains("stays as it was"), "\(note)")
        // The error of the test tells that the server is down, so there is no difference to tell of.
        #expect(found.count == 1)
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
                if mode == .replay { Issue.record("broken") }
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
        // Rules that allow unused recordings ask for no warning.
        #expect(
            try await issues(.cassette("login", rules: CassetteRules(unused: .allow), mode: .append)) {
                try await send("/v2/login", "/me", "/new")
            }.isEmpty)
    }
}
