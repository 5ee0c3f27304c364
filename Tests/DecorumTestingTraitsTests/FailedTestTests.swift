import Decorum
import DecorumTestingTraits
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A test that fails leaves no recording.
@Suite struct FailedTestTests {
    private static let stub = StubConnection { _ in Response(status: .ok, body: "x") }

    private func cassettes() -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Cassettes/FailedTestTests")
        return (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    }

    private func run(_ name: String, _ body: @Sendable @escaping () async throws -> Void) async throws -> [String] {
        let test = try #require(Test.current)
        let issues = Mutex<[String]>([])
        // The issues of the inner test are collected here, so that the outer test does not fail for them.
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            issues.withLock { $0.append("\(issue)") }
            return nil
        }
        try await collecting.provideScope(for: test, testCase: nil) {
            try await CassetteTrait.cassette(name, mode: .append).provideScope(for: test, testCase: nil) {
                _ = try await CassetteConnection(recording: Self.stub).send(.get("https://example.com/"))
                try await body()
            }
        }
        return issues.withLock { $0 }
    }

    @Test func `An expectation that fails keeps the cassette from being written`() async throws {
        let issues = try await run("expectation") { Issue.record("broken") }
        #expect(issues.count == 1)
        #expect(!cassettes().contains("expectation.json"))
    }

    @Test func `An error that is thrown keeps the cassette from being written`() async throws {
        await #expect(throws: CancellationError.self) { try await run("error") { throw CancellationError() } }
        #expect(!cassettes().contains("error.json"))
    }

    @Test func `A warning does not`() async throws {
        defer {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Cassettes")
            try? FileManager.default.removeItem(at: folder.appending(path: "FailedTestTests"))
        }
        let issues = try await run("warning") { Issue.record("look", severity: .warning) }
        #expect(issues.count == 1)
        #expect(cassettes().contains("warning.json"))
    }
}
