import Foundation
import Testing

/// Tests that run one after the other: tests in separate processes block a thread of this one, and tests that put a
/// load on sockets would delay each other.
@Suite(.serialized) enum IsolatedTests {}

extension IsolatedTests {
    /// Ends a process that hangs, with a failure.
    static func failAfterAMinute() {
        alarm(60 * (Footprint.isSoak ? 10 : 1))
    }

    /// Ends a process that hangs, with success, for a test that expects a failure.
    static func succeedAfterAMinute() {
        signal(SIGALRM) { _ in _exit(EXIT_SUCCESS) }
        alarm(60)
    }
}
