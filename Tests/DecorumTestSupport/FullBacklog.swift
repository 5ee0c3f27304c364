#if os(Linux)
import Foundation

/// A port of 127.0.0.1 that answers no further connection, since the queue of its listener is full.
public final class FullBacklog: Sendable {
    /// The port.
    public let port: Int
    private let sockets: [Int32]

    /// Fills a queue.
    public init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var sockets = [listener]
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard unsafe bind(listener, address, length) == 0, listen(listener, 0) == 0,
                    unsafe getsockname(listener, address, &length) == 0
                else { return false }
                // A queue of length zero takes one connection, and the system may take a second one for it.
                for _ in 0..<4 {
                    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                    sockets.append(client)
                    _ = unsafe connect(client, address, length)
                }
                return true
            }
        }
        self.sockets = sockets
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw POSIXError(.EADDRINUSE) }
    }

    deinit {
        for socket in sockets { close(socket) }
    }
}
#endif
