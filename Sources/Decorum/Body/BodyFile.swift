import Foundation
import HTTPTypes

/// A body in a file.
struct BodyFile: Sendable, Equatable {
    let url: URL
    let length: Int64

    init(_ url: URL) throws {
        let values = try url.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
        guard values.isRegularFile == true, let size = values.fileSize else {
            throw CocoaError(.fileReadUnsupportedScheme)
        }
        self.url = url
        length = Int64(size)
    }
}

struct FileBodyReader: BodyReader {
    private static let chunkSize: Int64 = 256 << 10

    let file: OpenFile
    var offset: Int64
    let length: Int64

    mutating func next() async throws -> Data? {
        guard offset < length else { return nil }
        let chunk = try await file.chunk(Int(min(length - offset, Self.chunkSize)), at: offset)
        guard !chunk.isEmpty else { throw BodyLengthError() }
        offset += Int64(chunk.count)
        return chunk
    }

    var trailers: HTTPFields? { nil }
}

/// An open file, from which several tasks can read at any offset at the same time.
final class OpenFile: Sendable {
    private let descriptor: Int32

    /// Creates an empty temporary file and removes its name, so that no other process can open it and the system deletes
    /// it even after a crash.
    init() throws {
        let name = "decorum-" + String(SystemGenerator().next(), radix: 36)
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(name, isDirectory: false).path
        // O_EXCL, so that an existing file or link of another user is not opened.
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError.last }
        unsafe unlink(path)
    }

    /// Opens a file for reading.
    init(reading file: URL) throws {
        descriptor = unsafe open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError.last }
    }

    deinit {
        close(descriptor)
    }

    /// The number of bytes in the file.
    func length() throws -> Int64 {
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else { throw POSIXError.last }
        return Int64(end)
    }

    func write(_ data: Data, at offset: Int64) throws {
        guard unsafe data.withUnsafeBytes({ unsafe $0.write(to: descriptor, at: offset) }) else {
            throw POSIXError.last
        }
    }

    /// Reads bytes, fewer than `count` only at the end of the file; the caller may be the main actor, which must not wait.
    @concurrent func chunk(_ count: Int, at offset: Int64) async throws -> Data {
        // Not zeroed first, as the memory of `Data(count:)` is.
        guard let memory = unsafe malloc(count) else { throw POSIXError(.ENOMEM) }
        do {
            let done = try unsafe read(into: UnsafeMutableRawBufferPointer(start: memory, count: count), at: offset)
            return unsafe Data(bytesNoCopy: memory, count: done, deallocator: .free)
        } catch {
            unsafe free(memory)
            throw error
        }
    }

    /// Fills a buffer and returns the number of bytes, which is less than its size only at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        guard let count = unsafe buffer.read(from: descriptor, at: offset) else { throw POSIXError.last }
        return count
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Fills the buffer from an offset of an open file, and returns the number of bytes, which is less than its size only
    /// at the end of the file; nil after an error, whose number is in `errno`.
    package func read(from descriptor: Int32, at offset: Int64) -> Int? {
        var done = 0
        while done < count {
            let part = unsafe pread(
                descriptor, baseAddress?.advanced(by: done), count - done, off_t(offset) + off_t(done))
            guard part >= 0 || errno == EINTR else { return nil }
            guard part != 0 else { break }
            done += Swift.max(part, 0)
        }
        return done
    }
}

extension UnsafeRawBufferPointer {
    /// Writes all bytes at an offset of an open file; returns false after an error, whose number is in `errno`.
    package func write(to descriptor: Int32, at offset: Int64 = 0) -> Bool {
        var done = 0
        while done < count {
            let part = unsafe pwrite(
                descriptor, baseAddress?.advanced(by: done), count - done, off_t(offset) + off_t(done))
            guard part >= 0 || errno == EINTR else { return false }
            done += Swift.max(part, 0)
        }
        return true
    }
}

extension POSIXError {
    fileprivate static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
