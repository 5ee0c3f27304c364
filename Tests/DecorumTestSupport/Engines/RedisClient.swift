#if os(macOS) || os(Linux)
import DecorumSharedStorage
import DecorumTesting
import Dispatch
package import Foundation
import Synchronization

/// A client of Redis for tests alone, with as many connections as it has calls at a time.
///
/// A call blocks a thread of its own, for two seconds at most, and a cancelled caller waits too.
package final class RedisClient: Sendable {
    private let port: Int
    private let idle = Mutex<[RedisConnection]>([])
    private let queue = DispatchQueue(label: "RedisClient", attributes: .concurrent)

    package init(port: Int) { self.port = port }

    /// Sends a command, and returns the strings of an array, or the one string or number.
    package func callAsFunction(_ words: String...) async throws -> [Data?] {
        try await reply(to: words.map { Data($0.utf8) })
    }

    package func reply(to command: [Data]) async throws -> [Data?] {
        try await withCheckedThrowingContinuation { waiter in
            queue.async { [self] in waiter.resume(with: Result { try exchange(command) }) }
        }
    }

    private func exchange(_ command: [Data]) throws -> [Data?] {
        let connection = try idle.withLock { $0.popLast() } ?? RedisConnection(port: port)
        do {
            let reply = try connection.reply(to: command)
            idle.withLock { $0.append(connection) }
            return reply
        } catch {
            // The engine may have ended, and then all connections have.
            idle.withLock { $0 = [] }
            throw error
        }
    }
}

/// A connection that serves one call at a time (RESP2), and is dropped after an error.
private final class RedisConnection: Sendable {
    struct Failure: Error { let call: String }

    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, SocketPlatform.streamType, 0)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var (limit, on) = (timeval(tv_sec: 2, tv_usec: 0), Int32(1))
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard SocketPlatform.connectLoopback(descriptor, to: port) else { throw Failure(call: "connect") }
    }

    deinit { _ = close(descriptor) }

    func reply(to command: [Data]) throws -> [Data?] {
        var bytes = Array("*\(command.count)\r\n".utf8)
        for word in command { bytes += Array("$\(word.count)\r\n".utf8) + word + [13, 10] }
        guard unsafe send(descriptor, bytes, bytes.count, SocketPlatform.sendFlags) == bytes.count else {
            throw Failure(call: "send")
        }
        bytes = []
        while true {
            // The system writes no more bytes than the array has.
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failure(call: "recv") }
            bytes += buffer[..<count]
            var rest = bytes[...]
            if let reply = try Self.takeReply(from: &rest) { return reply }
        }
    }

    /// Takes a reply from the bytes; nil while a part is missing.
    private static func takeReply(from bytes: inout ArraySlice<UInt8>) throws -> [Data?]? {
        guard let end = bytes.firstIndex(of: 10) else { return nil }
        let line = String(decoding: bytes[..<end].dropLast(), as: UTF8.self)
        bytes = bytes[(end + 1)...]
        let text = String(line.dropFirst())
        switch (line.first, Int(text)) {
        case ("-", _): throw SharedStorageError(.refused(text))
        case ("+", _), (":", .some): return [Data(text.utf8)]
        case ("$", -1), ("*", -1): return [nil]
        case ("$", let count?) where 0...(64 << 20) ~= count:
            defer { bytes = bytes.dropFirst(count + 2) }
            return bytes.count < count + 2 ? nil : [Data(bytes.prefix(count))]
        case ("*", let count?) where 0...10_000 ~= count:
            let parts = try (0..<count).map { _ in try takeReply(from: &bytes) }
            return parts.contains { $0 == nil } ? nil : parts.flatMap { $0 ?? [] }
        default: throw Failure(call: "parse")
        }
    }
}
#endif
