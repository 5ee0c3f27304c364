#if os(Linux)
import Foundation

/// The part of a response's content that has arrived and was not read yet.
struct CurlContent: Sendable {
    /// The server is held back while as many bytes wait.
    private static let highMark = 256 << 10
    private static let chunkSize = 64 << 10
    // libcurl hands over no more than this at a time; as much of it means that more follows.
    private static let pieceSize = 16 << 10

    private var chunks: [Data] = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    /// Adds bytes, unless too many wait already.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard count < Self.highMark else { return false }
        count += bytes.count
        if let last = chunks.indices.last, chunks[last].count + bytes.count <= Self.chunkSize {
            unsafe chunks[last].append(contentsOf: bytes)
            return true
        }
        var chunk = Data(capacity: bytes.count < Self.pieceSize ? bytes.count : Self.chunkSize)
        unsafe chunk.append(contentsOf: bytes)
        chunks.append(chunk)
        return true
    }

    mutating func take() -> [Data] {
        defer { discard() }
        return chunks
    }

    mutating func discard() {
        chunks = []
        count = 0
    }
}
#endif
