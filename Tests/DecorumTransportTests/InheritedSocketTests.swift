#if os(macOS) || os(Linux)
import DecorumTestSupport
import Foundation
import Testing

extension ProcessTests {
    /// Processes of tests beside tests that wait for the end of a connection.
    @Suite(.timeLimit(.minutes(1))) struct InheritedSocketTests {
        @Test(.enabled(if: Footprint.descriptors > 0, "The system has no /proc."))
        func `The process of a test keeps no socket of the process that has started it`() async {
            await #expect(processExitsWith: .success) {
                var pair: [Int32] = [-1, -1]
                // The system writes two descriptors into the array of two.
                #expect(unsafe socketpair(AF_UNIX, Self.stream, 0, &pair) == 0)
                ProcessTests.begin()
                for socket in pair { #expect(fcntl(socket, F_GETFD) == -1) }
            }
        }

        #if canImport(Glibc)
        private static let stream = Int32(SOCK_STREAM.rawValue)
        #else
        private static let stream = SOCK_STREAM
        #endif
    }
}
#endif
