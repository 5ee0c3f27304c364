import Foundation
public import Testing

/// Tests that put a load on sockets and would delay each other, so that they run one after the other in all test targets.
@Suite(.serialized) public enum IsolatedTests: Sendable {}

/// Tests in separate processes, which run one after the other, beside the tests of this process.
///
/// They count the resources of a process, or end it, which other processes do not disturb.
@Suite(.serialized) public enum ProcessTests: Sendable {}

extension ProcessTests {
    /// Begins the process of a test.
    ///
    /// The process fails if it still runs after its limit. A test cannot end the process that it waits for, so a process
    /// that hangs would otherwise never be reported.
    ///
    /// - Parameter minutes: The limit, which is ten times as long in the long form of the tests.
    public static func begin(limit minutes: UInt32 = 1) {
        closeInheritedSockets()
        alarm(60 * minutes * (Footprint.isSoak ? 10 : 1))
    }

    /// Begins the process of a test that is about a failure: it succeeds if it still runs after a minute.
    public static func beginFailure() {
        closeInheritedSockets()
        signal(SIGALRM) { _ in _exit(EXIT_SUCCESS) }
        alarm(60)
    }

    /// Closes the sockets of the process that has started this one.
    ///
    /// A connection stays open as long as any process has its socket, so a test there that waits for the end of a
    /// connection would wait for this process. It still waits for this call, which comes first in the process.
    public static func closeInheritedSockets() {
        for socket in sockets { close(socket) }
    }

    /// The open sockets of the current process; none where the system has no `/proc`.
    private static var sockets: [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap(Int32.init).filter { descriptor in
            var status = stat()
            // The system writes no more than the structure.
            let isOpen = unsafe fstat(descriptor, &status) == 0
            return isOpen && descriptor > STDERR_FILENO && status.st_mode & S_IFMT == S_IFSOCK
        }
    }
}
