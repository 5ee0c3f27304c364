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
        guard let chunk = try await Self.read(count, from: handle), !chunk.isEmpty else { throw BodyLengthError() }
        remaining -= Int64(chunk.count)
        return chunk
    }

    // The caller may be the main actor, which must not wait for a disk.
    @concurrent private static func read(_ count: Int, from handle: FileHandle) async throws -> Data? {
        try handle.read(upToCount: count)
    }

    var trailers: HTTPFields? { nil }
}
