import Foundation
import Testing

/// Tests that run one after the other: those in processes of their own keep a thread of this one waiting, and those that
/// put a load on sockets would make each other late.
@Suite(.serialized) enum IsolatedTests {}

extension IsolatedTests {
    /// Ends a process that hangs, with a failure.
    static func failAfterAMinute() {
        alarm(60 * (Footprint.isSoak ? 10 : 1))
    }

    /// Ends a process that hangs, with success, where the test is about a failure.
    static func succeedAfterAMinute() {
        signal(SIGALRM) { _ in _exit(EXIT_SUCCESS) }
        alarm(60)
    }
}
