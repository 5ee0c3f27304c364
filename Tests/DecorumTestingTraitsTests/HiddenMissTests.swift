import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTestingTraits

/// A test that fails with its expectation alone, because its code catches errors, is told of the misses behind it.
@Suite struct HiddenMissTests {
    private let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Cassettes/HiddenMissTests")

    /// The issues of a test whose file has no recordings; an error that it throws is left out.
    private func issues(
        _ name: String, _ body: @Sendable @escaping (_ trait: CassetteTrait, _ test: Test) async throws -> Void
    ) async throws -> [Issue] {
        let test = try #require(Test.current)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name + ".json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"cassette": 1, "interactions": []}"#.utf8).write(to: file)
        let issues = Mutex<[Issue]>([])
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            issues.withLock { $0.append(issue) }
            return nil
        }
        try await collecting.provideScope(for: test, testCase: nil) {
            try? await body(.cassette(name, mode: .replay), test)
        }
        return issues.withLock { $0 }
    }

    private static func send(_ path: String) async throws -> Int {
        try await CassetteConnection().send(.get("https://example.com" + path)).status.code
    }

    @Test func `A miss behind a failed expectation is an issue too`() async throws {
        let issues = try await issues("trait") { trait, test in
            try await trait.provideScope(for: test, testCase: nil) {
                let seen = try? await Self.send("/login")
                #expect(seen == 401)
            }
        }
        #expect(issues.count == 2)
        let miss = try #require(issues.last?.error as? CassetteMissError)
        #expect(miss.request == "GET https://example.com/login")
    }

    @Test func `Several misses behind a failed expectation are one issue`() async throws {
        let issues = try await issues("several") { trait, test in
            try await trait.provideScope(for: test, testCase: nil) {
                let seen = [try? await Self.send("/a"), try? await Self.send("/b")]
                #expect(seen == [200, 200])
            }
        }
        #expect(issues.count == 2)
        #expect((issues.last?.error as? CassetteFailuresError)?.failures.count == 2)
    }

    @Test func `A miss that the test shows itself is not told again`() async throws {
        let thrown = try await issues("thrown") { trait, test in
            try await trait.provideScope(for: test, testCase: nil) { _ = try await Self.send("/login") }
        }
        #expect(thrown.isEmpty)
        let expected = try await issues("expected") { trait, test in
            try await trait.provideScope(for: test, testCase: nil) {
                do {
                    _ = try await Self.send("/login")
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(expected.count == 1)
    }

    @Test func `A miss of an inner cassette that the test shows does not hide that of the outer one`() async throws {
        let found = try await issues("outer") { trait, test in
            try await trait.provideScope(for: test, testCase: nil) {
                _ = try? await Self.send("/login")
                let inner = folder.appending(path: "inner.json")
                try Data(#"{"cassette": 1, "interactions": []}"#.utf8).write(to: inner)
                defer { try? FileManager.default.removeItem(at: inner) }
                try await withCassette("inner", mode: .replay) { _ in
                    do { _ = try await Self.send("/login") } catch { Issue.record(error) }
                }
            }
        }
        let files = found.compactMap { ($0.error as? CassetteMissError)?.file }
        #expect(files.map { $0.contains("inner.json") } == [true, false])
    }

    @Test func `A miss inside of an error that masks and indents it is not told again`() async throws {
        struct WrappedError: Error, CustomStringConvertible { let description: String }
        let found = try await issues("wrapped") { trait, test in
            try await trait.provideScope(for: test, testCase: nil) {
                do {
                    _ = try await Self.send("/login?page=2")
                } catch {
                    let text = "\(error)".replacing("page=2", with: "REDACTED").replacing("\n", with: "\n    ")
                    Issue.record(WrappedError(description: "The list failed: \(text)"))
                }
                #expect(Bool(false))
            }
        }
        #expect(found.count == 2)
    }

    @Test func `A part of a test tells of the misses behind its expectations`() async throws {
        let issues = try await issues("part") { _, _ in
            try await withCassette("part", mode: .replay) { _ in
                let seen = try? await Self.send("/login")
                #expect(seen == 401)
            }
        }
        #expect(issues.count == 2)
        #expect(issues.last?.error is CassetteMissError)
    }

    @Test(arguments: [true, false]) func `In another framework, the miss is reported beside the assertion`(
        hasThrown: Bool
    ) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "other-\(hasThrown).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"cassette": 1, "interactions": []}"#.utf8).write(to: file)
        var faults: [any Error] = []
        var notes: [String] = []
        let report: (any Error) -> Void = { faults.append($0) }
        let note: (String) -> Void = { notes.append($0) }
        try? await DecorumTesting.withCassette(
            "other-\(hasThrown)", rules: nil, mode: .replay, clock: SystemClock(), hasFailed: true, filePath: #filePath,
            function: #function, test: nil, onFault: report, onNote: note
        ) { cassette in
            do {
                _ = try await CassetteConnection(cassette).send(.get("https://example.com/login"))
            } catch {
                if hasThrown { throw error }
            }
        }
        #expect(faults.count == (hasThrown ? 0 : 1))
        #expect(faults.allSatisfy { $0 is CassetteMissError })
        #expect(notes.isEmpty)
    }

    @Test func `In another framework, a test without a recording whose server is down is told that it has none`()
        async throws
    {
        var notes: [String] = []
        let note: (String) -> Void = { notes.append($0) }
        let report: (any Error) -> Void = { Issue.record($0) }
        await #expect(throws: TransportError.self) {
            try await DecorumTesting.withCassette(
                "absent", rules: nil, mode: .once, clock: SystemClock(), hasFailed: false, filePath: #filePath,
                function: #function, test: nil, onFault: report, onNote: note
            ) { cassette in
                let stub = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
                _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/login"))
            }
        }
        #expect(notes.count == 1)
        #expect(
            notes.first?.contains("absent.json does not exist. So the requests of this test were sent")
                == true)
    }
}
