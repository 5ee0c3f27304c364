import Foundation
public import Testing

/// Tests that run one after the other, in all test targets together: those in processes of their own keep a thread of
/// this one waiting, and those that put a load on sockets would delay each other.
@Suite(.serialized) public enum IsolatedTests: Sendable {}

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
