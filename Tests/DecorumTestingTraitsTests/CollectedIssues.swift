import Decorum
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumTestingTraits

/// What a part of a test has reported, collected so that the test does not fail for it.
struct CollectedIssues: Sendable {
    var issues: [Issue] = []
    /// The texts that were attached to the report of the test, by the names of their files.
    var attached: [(name: String, text: String)] = []
    /// The error that the part has thrown.
    var thrown: (any Error)?

    var severities: [Issue.Severity] { issues.map(\.severity) }
    var errors: [any Error] { issues.compactMap(\.error) }

    /// The texts of the errors and of the notes.
    var texts: [String] { issues.map { $0.error.map { "\($0)" } ?? "\($0)" } }

    /// Runs a part of a test.
    init(of part: @Sendable @escaping (_ test: Test) async throws -> Void) async throws {
        let test = try #require(Test.current)
        let issues = Mutex<[Issue]>([])
        let attached = Mutex<[(name: String, text: String)]>([])
        let thrown = Mutex<(any Error)?>(nil)
        let attachments = FailureAttachments { text, name, _ in attached.withLock { $0.append((name, text)) } }
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            issues.withLock { $0.append(issue) }
            return nil
        }
        try await FailureAttachments.$current.withValue(attachments) {
            try await collecting.provideScope(for: test, testCase: nil) {
                do { try await part(test) } catch { thrown.withLock { $0 = error } }
            }
        }
        self.issues = issues.withLock { $0 }
        self.attached = attached.withLock { $0 }
        self.thrown = thrown.withLock { $0 }
    }

    /// Runs a test with a cassette.
    init(of trait: CassetteTrait, _ body: @Sendable @escaping () async throws -> Void) async throws {
        try await self.init { try await trait.provideScope(for: $0, testCase: nil, performing: body) }
    }
}

/// The cassettes of a file of tests.
struct CassetteFolder: Sendable {
    let url: URL

    init(of file: String = #filePath) {
        url = URL(filePath: CassettePath.path("a", beside: file)).deletingLastPathComponent()
    }

    func file(_ name: String) -> URL { url.appending(path: "\(name).json") }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name).path) }

    func remove(_ names: String...) {
        for name in names { try? FileManager.default.removeItem(at: file(name)) }
    }

    /// Writes a cassette of interactions; without them, an empty one.
    func write(_ interactions: String = "", to name: String) throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data(#"{"cassette": 1, "interactions": [\#(interactions)]}"#.utf8).write(to: file(name))
    }
}
