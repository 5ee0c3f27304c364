#if os(Linux)
import DecorumTesting
import Foundation

/// A port of 127.0.0.1 that answers no further connection, since the queue of its listener is full.
public final class FullBacklog: Sendable {
    /// The port.
    public let port: Int
    private let sockets: [Int32]

    /// Fills a queue.
    public init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A queue of length zero takes one connection, and the system may take a second one for it.
        let clients = (0..<4).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0) }
        sockets = [listener] + clients
        let port = SocketPlatform.bind(listener, to: SocketPlatform.loopback, 0)
        self.port = port ?? 0
        guard let port, listen(listener, 0) == 0 else { throw POSIXError(.EADDRINUSE) }
        for client in clients { _ = SocketPlatform.connectLoopback(client, to: port) }
    }

    deinit {
        for socket in sockets { close(socket) }
    }
}
#endif
