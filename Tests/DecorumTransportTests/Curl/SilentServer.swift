#if os(Linux)
import DecorumTesting
import Foundation

/// A port of 127.0.0.1 where the system completes connections, but no byte is sent unless a test accepts one.
final class SilentServer: Sendable {
    let port: Int
    private let listener: Int32

    init() throws {
        let listener = socket(AF_INET, SocketPlatform.streamType, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(listener, address, length) == 0 && getsockname(listener, address, &length) == 0
            }
        }
        guard isBound, listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit {
        close(listener)
    }

    /// Waits for a connection; nil once the listening has ended.
    func accept() -> Int32? {
        let client = Glibc.accept(listener, nil, nil)
        return client < 0 ? nil : client
    }

    /// Waits for a connection and for the first byte of a request on it.
    ///
    /// It waits on a thread of its own, because Swift's few threads also run the tests beside this one.
    ///
    /// - Throws: An error once the listening has ended, as it does when the waiting task is cancelled, or if no byte arrives
    ///   within a minute.
    func acceptRequest() async throws -> Int32 {
        let client = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: self.acceptedRequest()) }
            }
        } onCancel: {
            stop()
        }
        guard let client else { throw POSIXError(.ECONNABORTED) }
        return client
    }

    private func acceptedRequest() -> Int32? {
        guard let client = accept() else { return nil }
        var state = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
        var byte: UInt8 = 0
        guard unsafe poll(&state, 1, 60_000) == 1, unsafe recv(client, &byte, 1, 0) == 1 else {
            close(client)
            return nil
        }
        return client
    }

    /// Ends the listening.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
    }
}
#endif
