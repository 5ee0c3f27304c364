import Foundation

/// An open file, from which several tasks can read at any offset at the same time.
final class URLSessionSpoolFile: Sendable {
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
        try unsafe data.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
                guard count >= 0 || errno == EINTR else { throw POSIXError.last }
                written += max(count, 0)
            }
        }
    }

    /// Reads bytes; fewer than `count` only at the end of the file.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let done = try unsafe data.withUnsafeMutableBytes { buffer in try unsafe self.read(into: buffer, at: offset) }
        return data.prefix(done)
    }

    /// Fills a buffer and returns the number of bytes, which is less than its size only at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        var done = 0
        while done < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            guard count >= 0 || errno == EINTR else { throw POSIXError.last }
            guard count != 0 else { break }
            done += max(count, 0)
        }
        return done
    }
}

extension POSIXError {
    fileprivate static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
