import Foundation

/// A temporary file that only this user can open, in which bytes wait; it is gone when nobody holds it.
final class SpoolFile: Sendable {
    /// Where the file can be opened; nil for a file without a name, which not even a crash leaves behind.
    let url: URL?
    private let descriptor: Int32

    /// Creates an empty file.
    init(named: Bool) throws {
        let name = "decorum-" + String(SystemGenerator().next(), radix: 36)
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(name, isDirectory: false)
        // Exclusive, so that nobody can have put a file or a link there to read along.
        let descriptor = unsafe open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError.last }
        if !named { unsafe unlink(url.path) }
        self.url = named ? url : nil
        self.descriptor = descriptor
    }

    deinit {
        if let url { unsafe unlink(url.path) }
        close(descriptor)
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

    /// Reads as many bytes as are asked for, which must have been written.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        try unsafe data.withUnsafeMutableBytes { bytes in
            var done = 0
            while done < count {
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
                let step = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
                guard step > 0 || (step < 0 && errno == EINTR) else { throw POSIXError.last }
                done += max(step, 0)
            }
        }
        return data
    }
}

extension POSIXError {
    fileprivate static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
