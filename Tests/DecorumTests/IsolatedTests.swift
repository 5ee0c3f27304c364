import Foundation
import Testing

/// Tests that run one after the other, since they put a load on sockets and would make each other late.
@Suite(.serialized) enum IsolatedTests {}

/// Tests in processes of their own, which run one after the other, beside those of this process.
///
/// They count what a process holds, or end it. Neither is disturbed by what runs elsewhere.
@Suite(.serialized) enum ProcessTests {}

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
