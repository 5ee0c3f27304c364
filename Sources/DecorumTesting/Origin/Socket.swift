import Foundation
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// A socket that never blocks, with the system calls as its methods.
///
/// Calls on a socket that another task has closed fail. They never reach a descriptor that the system has reused, since
/// each call holds the lock that closing takes.
package final class Socket: Sendable {
    enum Transfer<Success> {
        case done(Success)
        case wouldBlock
        case failed
    }

    /// The number for poll(2), which outlives the descriptor.
    let number: Int32
    private let descriptor: Mutex<Int32>

    init(adopting descriptor: Int32) {
        number = descriptor
        self.descriptor = Mutex(descriptor)
        SocketPlatform.makeNonblocking(descriptor)
        SocketPlatform.silenceBrokenPipes(descriptor)
    }

    deinit { release() }

    /// Creates a socket that is bound to a port of an IPv4 address; 0 takes a free port.
    package static func bound(
        to address: String = SocketPlatform.loopback, port: Int = 0
    ) throws(SocketError) -> (socket: Socket, port: Int) {
        let descriptor = socket(AF_INET, SocketPlatform.streamType, 0)
        guard descriptor >= 0 else { throw SocketError(call: "socket") }
        let bound = Socket(adopting: descriptor)
        // A port that was in use before, of a server that was stopped, is free at once.
        if port != 0 { SocketPlatform.setOption(SO_REUSEADDR, at: SOL_SOCKET, of: descriptor) }
        guard let port = SocketPlatform.bind(descriptor, to: address, port) else { throw SocketError(call: "bind") }
        return (bound, port)
    }

    package func startListening() throws(SocketError) {
        guard listen(number, 4096) == 0 else { throw SocketError(call: "listen") }
    }

    /// Accepts a connection; fails if the process has no descriptor left.
    func acceptNext() -> Transfer<Socket> {
        // A connection that was aborted in the queue does not affect the next ones.
        transfer(repeatedAfter: ECONNABORTED) { descriptor in
            let accepted = accept(descriptor, nil, nil)
            guard accepted >= 0 else { return nil }
            let socket = Socket(adopting: accepted)
            SocketPlatform.setOption(TCP_NODELAY, at: Int32(IPPROTO_TCP), of: accepted)
            return socket
        }
    }

    /// Reads the bytes that have arrived; an empty array means that the peer sends no more.
    func receiveBytes(upTo count: Int) -> Transfer<[UInt8]> {
        transfer { descriptor in
            var received = 0
            // The system writes at most as many bytes as the buffer holds, and the array takes the bytes that it wrote.
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                received = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
                initialized = max(0, received)
            }
            return received < 0 ? nil : bytes
        }
    }

    /// Writes a part of some bytes, and returns the number of bytes written.
    func sendBytes(of data: Data, in range: Range<Int>) -> Transfer<Int> {
        transfer { descriptor in
            // Rebasing checks the range against the data.
            let sent = unsafe data.withUnsafeBytes { buffer in
                let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[range.lowerBound..<range.upperBound])
                return unsafe send(descriptor, part.baseAddress, part.count, SocketPlatform.sendFlags)
            }
            return sent < 0 ? nil : sent
        }
    }

    /// Repeats a system call, which returns nil for an error, after an interruption and after one other error.
    private func transfer<Success>(
        repeatedAfter error: Int32 = EINTR, _ call: (_ descriptor: Int32) -> Success?
    ) -> Transfer<Success> {
        descriptor.withLock { descriptor in
            while descriptor >= 0 {
                if let success = call(descriptor) { return .done(success) }
                switch SocketPlatform.lastError {
                case EINTR, error: continue
                case EAGAIN, EWOULDBLOCK: return .wouldBlock
                default: return .failed
                }
            }
            return .failed
        }
    }

    /// Signals the peer that no more bytes will come.
    func endWriting() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            _ = shutdown(descriptor, Int32(SHUT_WR))
        }
    }

    /// Makes closing send a reset and drop the bytes that were not sent yet.
    func resetOnClose() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            SocketPlatform.setOption(SO_LINGER, at: SOL_SOCKET, of: descriptor, to: linger(l_onoff: 1, l_linger: 0))
        }
    }

    /// Closes the descriptor; further calls do nothing.
    package func release() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            _ = close(descriptor)
            descriptor = -1
        }
    }
}

extension SocketPlatform {
    package static let loopback = "127.0.0.1"

    /// Binds a socket to a port of an IPv4 address, and returns the port; nil if the system refuses.
    package static func bind(_ descriptor: Int32, to address: String, _ port: Int) -> Int? {
        unsafe withAddress(address, port) { address, length in
            unsafe Foundation.bind(descriptor, address, length) == 0
                && getsockname(descriptor, address, &length) == 0
        }
    }

    /// Connects a socket to a port of 127.0.0.1.
    package static func connectLoopback(_ descriptor: Int32, to port: Int) -> Bool {
        unsafe withAddress(loopback, port) { address, length in unsafe connect(descriptor, address, length) == 0 }
            != nil
    }

    /// Makes a call with an IPv4 address, and returns the port that it then has; nil if the call fails.
    private static func withAddress(
        _ text: String, _ port: Int, _ call: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Bool
    ) -> Int? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        guard unsafe inet_pton(AF_INET, text, &address.sin_addr) == 1 else {
            errno = EINVAL
            return nil
        }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The pointers do not leave the call, and the length belongs to the address.
        let succeeds = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, &length) }
        }
        return succeeds ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }

    static func makeNonblocking(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    static func setOption(_ option: Int32, at level: Int32, of descriptor: Int32) {
        setOption(option, at: level, of: descriptor, to: Int32(1))
    }

    static func setOption<Value: BitwiseCopyable>(
        _ option: Int32, at level: Int32, of descriptor: Int32, to value: Value
    ) {
        // The system reads as many bytes as the value has, within the call.
        unsafe withUnsafeBytes(of: value) { buffer in
            _ = unsafe setsockopt(descriptor, level, option, buffer.baseAddress, socklen_t(buffer.count))
        }
    }
}

/// A system call on a socket that failed.
public struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the system call.
    public let call: String
    /// The system's error number.
    public let code: Int32

    /// Remembers the error of the call before.
    init(call: String) {
        self.call = call
        code = SocketPlatform.lastError
    }

    /// The system call and its error number.
    public var description: String { "The system call \(call) failed with error \(code)." }
}

/// The declarations that differ between platforms.
package enum SocketPlatform {}

#if canImport(Darwin)
extension SocketPlatform {
    package static let streamType = SOCK_STREAM
    package static let datagramType = SOCK_DGRAM
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
}
#elseif canImport(Musl)
extension SocketPlatform {
    package static let streamType = SOCK_STREAM
    package static let datagramType = SOCK_DGRAM
}
#endif
