import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTestingTraits

/// The requests that a cassette has failed are attached to the report of the test.
@Suite struct FailureAttachmentTests {
    private let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Cassettes/FailureAttachmentTests")

    private static let interaction = """
        {"request": {"method": "GET", "url": "https://example.com/feed",
        "headers": {"Authorization": "Bearer x7Rq2LmZ9sKd4TbVw8NcYh3J"}},
        "response": {"status": 200, "headers": {"Content-Type": "text/event-stream"}, "text": "data: 1"}
        """
    private static let whole = interaction + "}"
    private static let cut = interaction + #", "error": {"kind": "abandoned", "after": "body"}}"#

    /// What a test attaches, and the errors of its issues; `interactions` are those of its file.
    private func attachments(
        _ name: String, _ interactions: String = "",
        _ body: @Sendable @escaping (_ test: Test) async throws -> Void
    ) async throws -> (attached: [(name: String, text: String)], errors: [any Error]) {
        let test = try #require(Test.current)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name + ".json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"cassette": 1, "interactions": [\#(interactions)]}"#.utf8).write(to: file)
        let attached = Mutex<[(name: String, text: String)]>([])
        let errors = Mutex<[any Error]>([])
        let attachments = FailureAttachments { text, name, _ in attached.withLock { $0.append((name, text)) } }
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            if let error = issue.error { errors.withLock { $0.append(error) } }
            return nil
        }
        try await FailureAttachments.$current.withValue(attachments) {
            try await collecting.provideScope(for: test, testCase: nil) {
                do { try await body(test) } catch { errors.withLock { $0.append(error) } }
            }
        }
        return (attached.withLock { $0 }, errors.withLock { $0 })
    }

    private static func send(_ path: String) async throws {
        _ = try await CassetteConnection().send(.get("https://example.com" + path)).body.text(upTo: 100)
    }

    @Test(arguments: [true, false]) func `A test with the trait attaches its misses`(hides: Bool) async throws {
        let name = "trait-\(hides)"
        let found = try await attachments(name, Self.whole) { test in
            try await CassetteTrait.cassette(name, mode: .replay).provideScope(for: test, testCase: nil) {
                do { try await Self.send("/other") } catch { if !hides { throw error } }
            }
        }
        #expect(found.attached.map(\.name) == ["\(name)-request-1.txt"])
        let text = try #require(found.attached.first?.text)
        #expect(text.hasPrefix("No recording matches request 1.\n  GET https://example.com/other\n"), "\(text)")
        #expect(text.contains("interaction 1 of \(name).json\n\nGET https://example.com/feed\n"), "\(text)")
        #expect(!text.contains("x7Rq2"), "\(text)")
    }

    @Test(arguments: [true, false]) func `A part of a test attaches its misses`(hides: Bool) async throws {
        let name = "part-\(hides)"
        let found = try await attachments(name, Self.whole) { _ in
            try await withCassette(name, mode: .replay) { _ in
                do { try await Self.send("/other") } catch { if !hides { throw error } }
            }
        }
        #expect(found.attached.map(\.name) == ["\(name)-request-1.txt"])
    }

    @Test func `A test whose requests are answered attaches nothing`() async throws {
        let found = try await attachments("passing", Self.whole) { test in
            try await CassetteTrait.cassette("passing", mode: .replay).provideScope(for: test, testCase: nil) {
                try await Self.send("/feed")
            }
        }
        #expect(found.attached.isEmpty && found.errors.isEmpty)
    }

    @Test func `A recording that a test reads beyond is attached in full, without secrets`() async throws {
        let found = try await attachments("cut", Self.cut) { test in
            try await CassetteTrait.cassette("cut", mode: .replay).provideScope(for: test, testCase: nil) {
                try? await Self.send("/feed")
            }
        }
        #expect(found.errors.count == 1 && found.errors.first is RecordingEndedError)
        #expect(found.attached.map(\.name) == ["cut-failure-1.txt"])
        let text = try #require(found.attached.first?.text)
        #expect(text.hasPrefix("The recording of GET https://example.com/feed ends here, after 7 bytes"), "\(text)")
        #expect(text.contains("\ninteraction 1 of cut.json\n\nGET https://example.com/feed\n"), "\(text)")
        #expect(text.contains("\n200\nContent-Type: text/event-stream\n\ndata: 1\n"), "\(text)")
        #expect(!text.contains("x7Rq2"), "\(text)")
    }

    // Its content is read again for the report, and nothing but the error would stand in it.
    @Test func `A recording that cannot be read any more is not attached`() async throws {
        let tape = folder.appending(path: "lost.tape")
        try FileManager.default.createDirectory(at: tape, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: tape) }
        let content = tape.appending(path: "d04db2b07bf22bf2.bin")
        try Data("data: 1".utf8).write(to: content)
        let interaction = Self.cut.replacing(#""text": "data: 1""#, with: #""file": "lost.tape/d04db2b07bf22bf2.bin""#)
        let found = try await attachments("lost", interaction) { test in
            try await CassetteTrait.cassette("lost", mode: .replay).provideScope(for: test, testCase: nil) {
                let response = try await CassetteConnection().send(.get("https://example.com/feed"))
                try FileManager.default.removeItem(at: content)
                _ = try? await response.body.text(upTo: 100)
            }
        }
        #expect(found.errors.contains { $0 is RecordingEndedError })
        #expect(found.attached.isEmpty)
    }

    @Test func `The head of a request with a placeholder is attached, without its content`() async throws {
        let login = """
            {"request": {"method": "POST", "url": "https://example.com/login"}, "response": {"status": 200,
            "headers": {"Content-Type": "application/json"}, "json": {"access_token": "xq1aaaaaa-aaaaa-aaaaa"}}}
            """
        let found = try await attachments("placeholder", login) { test in
            try await CassetteTrait.cassette("placeholder", mode: .append).provideScope(for: test, testCase: nil) {
                let stub = StubConnection { _ in Response(status: .ok) }
                let connection = try CassetteConnection(recording: stub)
                _ = try await connection.send(.post("https://example.com/login"))
                let fields: HTTPFields = [.authorization: "Bearer xq1aaaaaa-aaaaa-aaaaa", .accept: "text/plain"]
                _ = try? await connection.send(.post("https://example.com/me", fields: fields, body: "my words"))
            }
        }
        #expect(found.errors.count == 1 && found.errors.first is PlaceholderSentError)
        #expect(found.attached.map(\.name) == ["placeholder-failure-1.txt"])
        let text = try #require(found.attached.first?.text)
        #expect(text.contains("\n  with xq1aaaaaa-aaaaa-aaaaa\n"), "\(text)")
        #expect(text.contains("\n\n----\n\nPOST https://example.com/me\n"), "\(text)")
        #expect(text.contains("\nAccept: text/plain\n"), "\(text)")
        #expect(text.contains("\n(8 bytes)\n") && !text.contains("my words"), "\(text)")
    }

    // Their errors tell all that there is to tell.
    @Test func `A difference and an unsafe request are not attached`() async throws {
        let changed = try await attachments("changed", Self.whole) { test in
            try await CassetteTrait.cassette("changed", mode: .verify).provideScope(for: test, testCase: nil) {
                let stub = StubConnection(Response(status: .notFound, body: "gone"))
                _ = try await CassetteConnection(recording: stub).send(.get("https://example.com/feed"))
            }
        }
        #expect(changed.errors.count == 1 && changed.errors.first is CassetteDriftError)
        #expect(changed.attached.isEmpty)

        let refused = try await attachments("unsafe", Self.whole) { test in
            var rules = CassetteRules(unused: .allow)
            rules.refusesUnsafeMethods = true
            let trait = CassetteTrait.cassette("unsafe", rules: rules, mode: .append)
            try await trait.provideScope(for: test, testCase: nil) {
                let stub = StubConnection { _ in Response(status: .ok) }
                _ = try? await CassetteConnection(recording: stub).send(.delete("https://example.com/feed"))
            }
        }
        #expect(refused.errors.count == 1 && refused.errors.first is UnsafeRequestError)
        #expect(refused.attached.isEmpty)
    }
}
