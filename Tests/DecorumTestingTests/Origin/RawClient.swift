import Dispatch
import Foundation
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// A client that sends and receives bytes, and knows nothing of HTTP.
///
/// Its blocking calls run on threads of their own, since the tasks of the origin need those of the language.
final class RawClient: Sendable {
    struct Failure: Error, Equatable {
        let code: Int32

        var isReset: Bool { code == ECONNRESET }
        var isRefused: Bool { code == ECONNREFUSED }
    }

    private static let queue = DispatchQueue(label: "RawClient", attributes: .concurrent)

    private let descriptor: Int32
    private let unread = Mutex(Data())
    private let isOpen = Mutex(true)

    /// Connects to a port of 127.0.0.1; reading gives up after twenty seconds.
    init(port: Int) throws {
        descriptor = socket(AF_INET, streamType, 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))

        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let outcome = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard outcome == 0 else {
            let failure = Failure(code: errno)
            closeDescriptor(descriptor)
            throw failure
        }
    }

    deinit {
        close()
    }

    func close() {
        isOpen.withLock { isOpen in
            if isOpen { closeDescriptor(descriptor) }
            isOpen = false
        }
    }

    func closeWriting() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    func send(_ text: String) async throws {
        try await send(Data(text.utf8))
    }

    func send(_ data: Data) async throws {
        try await blocking { [descriptor] in
            var start = 0
            while start < data.count {
                let sent = unsafe data.withUnsafeBytes { buffer in
                    unsafe sendBytes(descriptor, UnsafeRawBufferPointer(rebasing: buffer[start...]))
                }
                guard sent > 0 else { throw Failure(code: errno) }
                start += sent
            }
        }
    }

    /// Receives a piece; empty at the end.
    func receive() async throws -> Data {
        let buffered = unread.withLock { unread in
            defer { unread = Data() }
            return unread
        }
        guard buffered.isEmpty else { return buffered }
        return try await blocking { [descriptor] in
            var received = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
                received = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
                count = max(0, received)
            }
            guard received >= 0 else { throw Failure(code: errno) }
            return Data(bytes)
        }
    }

    /// Receives up to and including a text; fails where the end comes first.
    func receive(until end: String) async throws -> String {
        var data = Data()
        while true {
            let piece = try await receive()
            guard !piece.isEmpty else { throw Failure(code: 0) }
            data += piece
            guard let range = data.range(of: Data(end.utf8)) else { continue }
            let rest = data[range.upperBound...]
            unread.withLock { $0 = Data(rest) }
            return String(decoding: data[..<range.upperBound], as: UTF8.self)
        }
    }

    /// Receives until the other side closes.
    func receiveAll() async throws -> String {
        var data = Data()
        while true {
            let piece = try await receive()
            guard !piece.isEmpty else { return String(decoding: data, as: UTF8.self) }
            data += piece
        }
    }

    /// Sends, and receives until the other side closes.
    func exchange(_ text: String) async throws -> String {
        try await send(text)
        return try await receiveAll()
    }

    private func blocking<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Self.queue.async {
                continuation.resume(with: Swift.Result(catching: work))
            }
        }
    }
}

// Within the client, `close` and `send` are its own.
private func closeDescriptor(_ descriptor: Int32) {
    _ = close(descriptor)
}

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    unsafe send(descriptor, bytes.baseAddress, bytes.count, sendFlags)
}

#if canImport(Darwin)
private let streamType = SOCK_STREAM
private let sendFlags: Int32 = 0
#elseif canImport(Musl)
private let streamType = SOCK_STREAM
private let sendFlags = Int32(MSG_NOSIGNAL)
#else
private let streamType = Int32(SOCK_STREAM.rawValue)
private let sendFlags = Int32(MSG_NOSIGNAL)
#endif
