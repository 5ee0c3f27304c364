import DecorumTesting
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
/// Blocking calls run on separate threads, since the tasks of the origin need the threads of Swift's pool.
final class RawClient: Sendable {
    struct Failure: Error, Equatable {
        let code: Int32

        var isReset: Bool { code == ECONNRESET }
        var isRefused: Bool { code == ECONNREFUSED }
    }

    private let descriptor: Int32
    private let unread = Mutex(Data())
    private let isOpen = Mutex(true)

    /// Connects to a port of 127.0.0.1; reading gives up after two minutes.
    init(port: Int) throws {
        descriptor = socket(AF_INET, SocketPlatform.streamType, 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var timeout = timeval(tv_sec: 120, tv_usec: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))

        guard SocketPlatform.connectLoopback(descriptor, to: port) else {
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
        var start = 0
        while start < data.count {
            let rest = start..<data.count
            start += try await transfer { [descriptor] flags in
                unsafe data.withUnsafeBytes { buffer in
                    let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[rest.lowerBound..<rest.upperBound])
                    return unsafe sendBytes(descriptor, part, SocketPlatform.sendFlags | flags)
                }
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
        let received = Monitor(Data())
        _ = try await transfer { [descriptor] flags in
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, initialized in
                count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, flags)
                initialized = max(0, count)
            }
            received.update { $0 = Data(bytes) }
            return count
        }
        return received.state
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

    /// Reads and drops all bytes, and returns whether the other side closed or reset within the time for reading.
    func reachesEnd() async -> Bool {
        do {
            while try await !receive().isEmpty {}
            return true
        } catch {
            return (error as? Failure)?.isReset == true
        }
    }

    /// Sends, and receives until the other side closes.
    func exchange(_ text: String) async throws -> String {
        try await send(text)
        return try await receiveAll()
    }

    /// Makes a call at once where it does not block, and on a thread where it does.
    private func transfer(_ call: @escaping @Sendable (_ flags: Int32) -> Int) async throws -> Int {
        let count = call(Int32(MSG_DONTWAIT))
        if count >= 0 { return count }
        guard errno == EAGAIN || errno == EWOULDBLOCK else { throw Failure(code: errno) }
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                let count = call(0)
                continuation.resume(with: count >= 0 ? .success(count) : .failure(Failure(code: errno)))
            }
        }
    }
}

// Within the client, `close` and `send` are its own.
private func closeDescriptor(_ descriptor: Int32) {
    _ = close(descriptor)
}

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Int {
    unsafe send(descriptor, bytes.baseAddress, bytes.count, flags)
}
