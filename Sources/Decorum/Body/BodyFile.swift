import Foundation
import HTTPTypes
import Synchronization

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

    func open(at offset: Int64) throws -> any BodyReader {
        let handle = try FileHandle(forReadingFrom: url)
        try handle.seek(toOffset: UInt64(offset))
        return FileBodyReader(handle: handle, remaining: length - offset)
    }
}

private struct FileBodyReader: BodyReader {
    private static let chunkSize = 256 << 10

    let handle: FileHandle
    var remaining: Int64

    mutating func next() async throws -> Data? {
        guard remaining > 0 else { return nil }
        let count = Int(min(remaining, Int64(Self.chunkSize)))
        let chunk = try await Self.read(count, from: handle)
        guard !chunk.isEmpty else { throw BodyLengthError() }
        remaining -= Int64(chunk.count)
        return chunk
    }

    // The caller may be the main actor, which must not wait for a disk.
    @concurrent private static func read(_ count: Int, from handle: FileHandle) async throws -> Data {
        try handle.bytes(upTo: count)
    }

    var trailers: HTTPFields? { nil }
}

extension FileHandle {
    /// Reads bytes from the current place of a file, fewer only at its end.
    ///
    /// `read(upToCount:)` of Foundation on Linux asks the system for 4 KiB at a time, which made the reader of a file
    /// slower than the network: a quarter of a million system calls for a gibibyte.
    fileprivate func bytes(upTo count: Int) throws -> Data {
        // Not zeroed first, as the memory of `Data(count:)` is.
        guard let buffer = unsafe malloc(count) else { throw POSIXError(.ENOMEM) }
        var filled = 0
        while filled < count {
            let part = unsafe systemRead(fileDescriptor, buffer + filled, count - filled)
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else {
                let reason = POSIXErrorCode(rawValue: errno) ?? .EIO
                unsafe free(buffer)
                throw POSIXError(reason)
            }
            if part == 0 { break }
            filled += part
        }
        return unsafe Data(bytesNoCopy: buffer, count: filled, deallocator: .free)
    }
}

/// The function of the system, whose name a method of `FileHandle` hides.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    unsafe read(descriptor, buffer, count)
}

/// A body that one task takes, once.
///
/// A task is released a little after its work has ended. If it captured the body itself, the transfer would stay open
/// until then.
final class HeldBody: Sendable {
    private let body: Mutex<Body?>

    init(_ body: Body) {
        self.body = Mutex(body)
    }

    func take() -> Body? {
        body.withLock { $0.take() }
    }
}
