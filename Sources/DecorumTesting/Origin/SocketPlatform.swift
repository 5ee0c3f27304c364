#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// The declarations that differ between platforms.
package enum SocketPlatform {}

#if canImport(Darwin)
extension SocketPlatform {
    package static let streamType = SOCK_STREAM
    package static let datagramType = SOCK_DGRAM
    static let descriptorResource = RLIMIT_NOFILE
    package static let sendFlags: Int32 = 0
    /// The event of a peer that sends no more, which poll(2) reports as a hang-up here, where it was asked for.
    static let peerClosedEvents = Int16(POLLHUP)
    /// In milliseconds: where bytes wait unread, one call of poll(2) looks for the end of a connection only once.
    static let longestPoll: Int32 = 20

    static func silenceBrokenPipes(_ descriptor: Int32) {
        setOption(SO_NOSIGPIPE, at: SOL_SOCKET, of: descriptor)
    }

    static var lastError: Int32 { errno }
}
#else
extension SocketPlatform {
    package static let sendFlags = Int32(MSG_NOSIGNAL)
    /// The event of a peer that sends no more: POLLRDHUP, which the module map does not show.
    static let peerClosedEvents: Int16 = 0x2000
    /// No limit.
    static let longestPoll: Int32 = -1

    static func silenceBrokenPipes(_ descriptor: Int32) {}

    static var lastError: Int32 { errno }
}
#endif

#if canImport(Glibc) && !canImport(Musl)
extension SocketPlatform {
    package static let streamType = Int32(SOCK_STREAM.rawValue)
    package static let datagramType = Int32(SOCK_DGRAM.rawValue)
    static let descriptorResource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
#elseif canImport(Musl)
extension SocketPlatform {
    package static let streamType = SOCK_STREAM
    package static let datagramType = SOCK_DGRAM
    static let descriptorResource = RLIMIT_NOFILE
}
#endif
