import Decorum
import DecorumTestingTraits
import Foundation
import Synchronization
import Testing

/// The warning beside a test that replays a file of another tool.
@Suite struct ImportLossWarningTests {
    @Test func `A test that passes with a file that lacks a body is warned`() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Cassettes/ImportLossWarningTests")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let archive =
            #"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.example/"},"#
            + #" "response": {"status": 200, "content": {"size": 12}}}]}}"#
        try Data(archive.utf8).write(to: folder.appending(path: "archive.json"))
        let test = try #require(Test.current)
        let found = Mutex<[Issue]>([])
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            found.withLock { $0.append(issue) }
            return nil
        }

        try await collecting.provideScope(for: test, testCase: nil) {
            try await CassetteTrait.cassette("archive", mode: .replay).provideScope(for: test, testCase: nil) {
                let response = try await CassetteConnection().send(.get("https://a.example/"))
                #expect(try await response.body.text(upTo: 100) == "")
            }
        }

        let issues = found.withLock { $0 }
        #expect(issues.map(\.severity) == [.warning])
        let text = "\(try #require(issues.first))"
        #expect(
            text.contains("$.log.entries[0].response.content, line 1: The archive has a response without "), "\(text)")
    }
}
