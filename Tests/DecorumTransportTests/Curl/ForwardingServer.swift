#if os(Linux)
import DecorumTesting
import Foundation
import Synchronization

/// Forwards bytes to a port of 127.0.0.1, as a server behind a Unix socket, as a proxy that each connection asks with
/// `CONNECT`, or as an attacker on the network who ends a TLS connection before its close_notify.
///
/// Its threads block, and end with the connections; `deinit` ends the listening.
final class ForwardingServer: Sendable {
    enum Place: Sendable {
        /// A Unix socket at a path.
        case file(String)
        /// A free port of 127.0.0.1, where each connection starts with a `CONNECT`.
        case proxy
        /// A free port of 127.0.0.1; instead of forwarding an alert of the TLS server, it ends the connection.
        case beforeAlerts
    }

    let port: Int
    private let listener: Int32
    private let received = Mutex<[String]>([])

    init(at place: Place, to target: Int) throws {
        switch place {
        case .file(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8.prefix(107)) }
            let listener = socket(AF_UNIX, SocketPlatform.streamType, 0)
            let outcome = unsafe withUnsafePointer(to: &address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe bind(listener, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard outcome == 0 else { throw POSIXError(.EADDRINUSE) }
            self.listener = listener
            port = 0
        case .proxy, .beforeAlerts:
            listener = socket(AF_INET, SocketPlatform.streamType, 0)
            guard let port = SocketPlatform.bindLoopback(listener) else { throw POSIXError(.EADDRINUSE) }
            self.port = port
        }
        guard listen(listener, 16) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [listener, weak self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread { [weak self] in self?.serve(client, target, place) }
            }
            close(listener)
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// The heads of the `CONNECT`s.
    var heads: [String] { received.withLock { $0 } }

    private func serve(_ client: Int32, _ target: Int, _ place: Place) {
        if case .proxy = place {
            var head: [UInt8] = []
            var byte: UInt8 = 0
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), unsafe recv(client, &byte, 1, 0) == 1 {
                head.append(byte)
            }
            received.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
            let answer = Array("HTTP/1.1 200 Connected\r\n\r\n".utf8)
            _ = unsafe send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
        let server = socket(AF_INET, SocketPlatform.streamType, 0)
        _ = SocketPlatform.connectLoopback(server, to: target)
        let answered = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            if case .beforeAlerts = place {
                Self.passRecords(from: server, to: client)
            } else {
                Self.pass(from: server, to: client)
            }
            answered.signal()
        }
        Self.pass(from: client, to: server)
        // A descriptor that is closed earlier may be another connection's when the other thread shuts it down.
        answered.wait()
        close(server)
        close(client)
    }

    private static func pass(from source: Int32, to destination: Int32) {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        while case let count = unsafe recv(source, &bytes, bytes.count, 0), count > 0 {
            guard unsafe send(destination, bytes, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(destination, Int32(SHUT_RDWR))
    }

    /// Forwards the records of TLS up to the first alert (RFC 8446, section 5.1).
    private static func passRecords(from source: Int32, to destination: Int32) {
        var header = [UInt8](repeating: 0, count: 5)
        while unsafe recv(source, &header, header.count, Int32(MSG_WAITALL)) == header.count {
            var record = header + [UInt8](repeating: 0, count: Int(header[3]) << 8 | Int(header[4]))
            let count = record.count
            let isWhole = unsafe record.withUnsafeMutableBytes { bytes in
                unsafe recv(source, bytes.baseAddress?.advanced(by: 5), count - 5, Int32(MSG_WAITALL)) == count - 5
            }
            // TLS 1.3 hides the type of a record; only that of an alert has two bytes, a type and a tag.
            let isAlert = header[0] == 21 || header[0] == 23 && count == 5 + 2 + 1 + 16
            guard isWhole, !isAlert, unsafe send(destination, record, count, Int32(MSG_NOSIGNAL)) == count else {
                break
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(destination, Int32(SHUT_RDWR))
    }
}

/// A port of 127.0.0.1 where the system completes connections, but no byte is sent unless a test accepts one.
final class SilentServer: Sendable {
    let port: Int
    private let listener: Int32

    init() throws {
        let listener = socket(AF_INET, SocketPlatform.streamType, 0)
        guard let port = SocketPlatform.bindLoopback(listener), listen(listener, 64) == 0 else {
            throw POSIXError(.EADDRINUSE)
        }
        self.listener = listener
        self.port = port
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
