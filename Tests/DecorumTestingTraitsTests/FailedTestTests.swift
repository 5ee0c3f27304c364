import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTestingTraits

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
        #expect(issues.count == 2)
        #expect(issues.last?.contains("were not written") == true)
        #expect(!cassettes().contains("expectation.json"))
    }

    @Test func `An error that is thrown keeps the cassette from being written`() async throws {
        await #expect(throws: CancellationError.self) { try await run("error") { throw CancellationError() } }
        #expect(!cassettes().contains("error.json"))
    }

    @Test func `A warning does not`() async throws {
        defer {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Cassettes")
            try? FileManager.default.removeItem(at: folder.appending(path: "FailedTestTests/warning.json"))
        }
        let issues = try await run("warning") { Issue.record("look", severity: .warning) }
        #expect(issues.count == 1)
        #expect(cassettes().contains("warning.json"))
    }

    @Test func `Requests that a cassette failed are reported in full`() async throws {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appending(path: "decorum-\(UInt64.random(in: .min ... .max)).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"cassette": 1, "interactions": []}"#.utf8).write(to: file)
        let cassette = try Cassette(at: file.path, mode: .replay)
        for number in 1...7 {
            _ = try? await CassetteConnection(cassette).send(
                .post("https://example.com/\(number)", body: Body("content \(number)")))
        }
        let reports = cassette.failureReports
        let name = file.deletingPathExtension().lastPathComponent
        #expect(reports.map(\.name) == (1...5).map { "\(name)-request-\($0).txt" })
        #expect(reports.first?.text.hasPrefix("No recording matches request 1.") == true)
        #expect(reports.first?.text.contains("POST https://example.com/1\n") == true)
        #expect(reports.first?.text.contains("content 1") == true)
    }

    @Test func `A recording that is too old is a warning where the rules ask for one`() async throws {
        let test = try #require(Test.current)
        let severities = Mutex<[Issue.Severity]>([])
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            severities.withLock { $0.append(issue.severity) }
            return nil
        }
        let file = URL(filePath: CassettePath.path("old", beside: test.sourceLocation.filePath))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: file) }
        let interaction =
            #"{"request": {"method": "GET", "url": "https://example.com/"}, "response": {"status": 200}, "at": "2020-01-01"}"#
        try Data(#"{"cassette": 1, "interactions": [\#(interaction)]}"#.utf8).write(to: file)
        for reaction in [CassetteRules.Expiry.Reaction.warn, .recordAnew, .fail] {
            var rules = CassetteRules()
            rules.expiry = .init(after: .seconds(86_400), reaction)
            let trait = CassetteTrait.cassette("old", rules: rules, mode: .replay)
            try await collecting.provideScope(for: test, testCase: nil) {
                try await trait.provideScope(for: test, testCase: nil) {
                    _ = try await CassetteConnection().send(.get("https://example.com/"))
                }
            }
        }
        #expect(severities.withLock { $0 } == [.warning, .warning, .error])
    }
}
