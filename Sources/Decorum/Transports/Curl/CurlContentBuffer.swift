#if os(Linux)
import Foundation

/// The part of a response's content that has arrived and was not read yet.
struct CurlContentBuffer: Sendable {
    /// The server has to wait while this many bytes are in the buffer.
    private static let highMark = 256 << 10
    private static let chunkSize = 64 << 10
    // libcurl gives at most this much at a time. A piece of this size is probably followed by more.
    private static let pieceSize = 16 << 10

    /// What arrives and what a reader has taken and not returned yet, each with one piece above the mark, and the buffer and
    /// the last piece of libcurl.
    static let bytesHeld = 2 * (highMark + pieceSize) + CurlOptions.bufferSize + pieceSize

    private var chunks: [Data] = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    /// Whether the server has to wait.
    var isFull: Bool { count >= Self.highMark }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        count += bytes.count
        if let last = chunks.indices.last, chunks[last].count + bytes.count <= Self.chunkSize {
            unsafe chunks[last].append(contentsOf: bytes)
            return
        }
        var chunk = Data(capacity: bytes.count < Self.pieceSize ? bytes.count : Self.chunkSize)
        unsafe chunk.append(contentsOf: bytes)
        chunks.append(chunk)
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
