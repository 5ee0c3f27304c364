import Foundation
import Testing

/// Tests in processes of their own, one after the other, since each keeps a thread of this process waiting.
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
