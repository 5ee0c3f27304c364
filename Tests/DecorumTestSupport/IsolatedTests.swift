import Foundation
public import Testing

/// Tests that put a load on sockets and would delay each other, so that they run one after the other in all test targets.
@Suite(.serialized) public enum IsolatedTests: Sendable {}

/// Tests in separate processes, which run one after the other, beside the tests of this process.
///
/// They count the resources of a process, or end it, which other processes do not disturb.
@Suite(.serialized) public enum ProcessTests: Sendable {}

extension IsolatedTests {
    /// Makes the current process fail if it still runs after a minute, or after ten in the long form of the tests.
    public static func failAfterAMinute() {
        alarm(60 * (Footprint.isSoak ? 10 : 1))
    }

    /// Makes the current process succeed if it still runs after a minute, where the test is about a failure.
    public static func succeedAfterAMinute() {
        signal(SIGALRM) { _ in _exit(EXIT_SUCCESS) }
        alarm(60)
    }
}
