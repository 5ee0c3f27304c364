import Decorum
import DecorumTesting
import DecorumTestingTraits
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A part of a test that has a cassette; both modules are imported, which must not make the function ambiguous.
@Suite struct WithCassetteTests {
    private static let stub = StubConnection { _ in Response(status: .internalServerError, body: "x") }

    private var folder: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Cassettes/WithCassetteTests")
    }

    /// The issues that a part of a test reports, which are collected so that this test does not fail for them.
    private func issues(_ body: @Sendable @escaping () async throws -> Void) async throws -> [Issue] {
        let test = try #require(Test.current)
        let issues = Mutex<[Issue]>([])
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            issues.withLock { $0.append(issue) }
            return nil
        }
        try await collecting.provideScope(for: test, testCase: nil) { try await body() }
        return issues.withLock { $0 }
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appending(path: "\(name).json").path)
    }

    @Test func `An expectation that fails keeps the cassette from being written`() async throws {
        let issues = try await issues {
            try await withCassette("expectation", mode: .append) { cassette in
                let connection = CassetteConnection(cassette, recording: Self.stub)
                let response = try await connection.send(.get("https://example.com/"))
                #expect(response.status == .ok)
            }
        }
        #expect(issues.map(\.severity) == [.error, .warning])
        #expect(!exists("expectation"))
    }

    @Test func `A body that passes writes it, and one before it that failed does not matter`() async throws {
        defer { try? FileManager.default.removeItem(at: folder.appending(path: "passing.json")) }
        let issues = try await issues {
            Issue.record("before")
            try await withCassette("passing", mode: .append) { cassette in
                _ = try await CassetteConnection(cassette, recording: Self.stub).send(.get("https://example.com/"))
                Issue.record("look", severity: .warning)
            }
        }
        #expect(issues.count == 2)
        #expect(exists("passing"))
    }

    @Test func `An assertion of another framework that fails keeps the cassette from being written`() async throws {
        for hasFailed in [true, false] {
            try await withCassette("other", mode: .append, hasFailed: hasFailed) { cassette in
                _ = try await CassetteConnection(cassette, recording: Self.stub).send(.get("https://example.com/"))
            }
            #expect(exists("other") == !hasFailed)
        }
        try FileManager.default.removeItem(at: folder.appending(path: "other.json"))
    }

    @Test func `A recording that was never played is a warning where the rules ask for one`() async throws {
        defer { try? FileManager.default.removeItem(at: folder.appending(path: "unused.json")) }
        try await withCassette("unused", mode: .append) { cassette in
            _ = try await CassetteConnection(cassette, recording: Self.stub).send(.get("https://example.com/"))
        }
        let issues = try await issues {
            try await withCassette("unused", rules: CassetteRules(unused: .warn), mode: .replay) { _ in }
        }
        #expect(issues.map(\.severity) == [.warning])
        await #expect(throws: UnusedInteractionsError.self) {
            try await withCassette("unused", mode: .replay) { _ in }
        }
    }

    @MainActor @Test func `The body runs where the test does, and returns anything`() async throws {
        final class Counter { var count = 0 }
        let counter = Counter()
        let result = try await withCassette("main", mode: .append) { cassette in
            MainActor.assertIsolated()
            await Task.yield()
            MainActor.assertIsolated()
            counter.count += 1
            #expect(Cassette.current === cassette)
            return counter
        }
        #expect(result === counter)
        #expect(counter.count == 1)
    }

    @Test func `An error of the body is thrown as it is`() async throws {
        await #expect(throws: CancellationError.self) {
            try await withCassette("error", mode: .append) { cassette in
                _ = try await CassetteConnection(cassette, recording: Self.stub).send(.get("https://example.com/"))
                throw CancellationError()
            }
        }
        #expect(!exists("error"))
    }
}
