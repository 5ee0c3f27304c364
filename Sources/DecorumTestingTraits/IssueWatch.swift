import DecorumTesting
import Foundation
import Synchronization
import Testing

/// Observes whether a part of a test fails.
///
/// Swift Testing does not report whether a test has failed, so this trait observes its issues.
final class IssueWatch: Sendable {
    private let failures = Mutex<[String?]>([])

    /// Whether anything has failed until now.
    var hasFailed: Bool { failures.withLock { !$0.isEmpty } }

    /// The texts of the errors that have failed the test until now.
    var errorTexts: [String] { failures.withLock { $0.compactMap(\.self) } }

    /// Runs a part of a test, and observes its issues.
    func watch(
        _ test: Test, _ testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let trait: IssueHandlingTrait = .compactMapIssues { [self] issue in
            if issue.isFailure { failures.withLock { $0.append(issue.error.map { "\($0)" }) } }
            return issue
        }
        try await trait.provideScope(for: test, testCase: testCase, performing: function)
    }
}
