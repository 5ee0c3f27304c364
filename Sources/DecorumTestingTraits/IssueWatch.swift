import DecorumTesting
import Foundation
import Synchronization
import Testing

/// Observes whether a part of a test fails.
///
/// Swift Testing does not report whether a test has failed, so this trait observes its issues.
final class IssueWatch: Sendable {
    private let failed = Mutex(false)

    /// Whether anything has failed until now.
    var hasFailed: Bool { failed.withLock { $0 } }

    /// Runs a part of a test, and observes its issues.
    func watch(
        _ test: Test, _ testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let trait: IssueHandlingTrait = .compactMapIssues { [self] issue in
            if issue.isFailure { failed.withLock { $0 = true } }
            return issue
        }
        try await trait.provideScope(for: test, testCase: testCase, performing: function)
    }
}
