#if os(macOS) || os(Linux)
import DecorumSharedStorage
import DecorumTesting
import Dispatch
package import Foundation
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// A client of Redis for tests alone, with as many connections as it has calls at a time.
///
/// A call blocks a thread of its own, for two seconds at most, and a cancelled caller waits too.
package final class RedisClient: Sendable {
    struct Failure: Error { let call: String }

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
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, SocketPlatform.streamType, 0)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var (limit, on) = (timeval(tv_sec: 2, tv_usec: 0), Int32(1))
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard SocketPlatform.connectLoopback(descriptor, to: port) else { throw RedisClient.Failure(call: "connect") }
    }

    deinit { _ = close(descriptor) }

    func reply(to command: [Data]) throws -> [Data?] {
        var bytes = Data("*\(command.count)\r\n".utf8)
        for word in command { bytes += Data("$\(word.count)\r\n".utf8) + word + Data("\r\n".utf8) }
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[start...])
                return unsafe send(descriptor, rest.baseAddress, rest.count, SocketPlatform.sendFlags)
            }
            guard count > 0 else { throw RedisClient.Failure(call: "send") }
            start += count
        }
        var unread = Unread(descriptor: descriptor)
        return try unread.reply()
    }

    private struct Unread {
        let descriptor: Int32
        private var bytes: [UInt8] = []
        private var position = 0

        init(descriptor: Int32) { self.descriptor = descriptor }

        private mutating func receive() throws {
            // The system writes no more bytes than the array has.
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw RedisClient.Failure(call: "recv") }
            bytes += buffer[..<count]
        }

        private mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
            while bytes.count - position < count { try receive() }
            defer { position += count }
            return bytes[position..<(position + count)]
        }

        private mutating func line() throws -> String {
            while true {
                if let end = bytes[position...].firstIndex(of: 10) {
                    return String(decoding: try take(end + 1 - position).dropLast(2), as: UTF8.self)
                }
                try receive()
            }
        }

        mutating func reply() throws -> [Data?] {
            let line = try line()
            let text = String(line.dropFirst())
            switch (line.first, Int64(text)) {
            case ("-", _): throw SharedStorageError(.refused(text))
            case ("+", _), (":", .some): return [Data(text.utf8)]
            case ("$", -1), ("*", -1): return [nil]
            case ("$", let count?) where 0...(64 << 20) ~= count: return [Data(try take(Int(count) + 2).dropLast(2))]
            case ("*", let count?) where 0...10_000 ~= count: return try (0..<count).flatMap { _ in try reply() }
            default: throw RedisClient.Failure(call: "parse")
            }
        }
    }
}
#endif
