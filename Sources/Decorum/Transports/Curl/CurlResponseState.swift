#if os(Linux)
import Foundation

/// The parts of a response that have arrived: its heads, the end of its content, and its trailers.
struct CurlResponseState {
    /// The longest head, with the informational ones before it and the trailers after it.
    private static let lineLimit = 256 << 10

    enum Line {
        case partial
        /// The line has completed the head of the final response.
        case complete(CurlResponseHead)
        case refused(TransportError.Code, detail: String? = nil)
    }

    enum Content {
        case part
        /// All of the content has arrived.
        case last
        /// The chunked coding is malformed, or there is no head yet.
        case malformed
    }

    /// Whether chunked content arrives with its coding, as libcurl was told.
    var decodesChunks = false
    /// The status; nil before the head is complete.
    private(set) var status: Int?
    private(set) var informational: [CurlResponseHead] = []
    /// Whether only the end of the connection ends the content.
    private(set) var endsWithConnection = false
    private let answersHead: Bool
    private var head = CurlResponseHead()
    private var separateTrailers = CurlResponseHead()
    private var lineBytes = 0
    /// How much content is still to arrive; nil where the head does not tell.
    private var missingBytes: Int64?
    private var chunks: CurlChunkedDecoder?

    /// - Parameter answersHead: Whether the request is a HEAD request, whose response has no content.
    init(answersHead: Bool) {
        self.answersHead = answersHead
    }

    /// Whether nothing has arrived.
    var isEmpty: Bool { lineBytes == 0 }
    var hasHead: Bool { status != nil }
    /// Whether all of the content has arrived; false also where only libcurl can tell.
    var isComplete: Bool { missingBytes == 0 || chunks?.isComplete == true }
    /// Whether content in the chunked coding has not ended yet.
    var awaitsLastChunk: Bool { chunks?.isComplete == false }
    var trailers: CurlResponseHead { chunks?.trailers ?? separateTrailers }

    /// Adds a line of a head or of the trailers.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Line {
        lineBytes += line.count
        guard lineBytes <= Self.lineLimit else { return .refused(.limitExceeded) }
        let isBlank = unsafe line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        if hasHead {
            if !isBlank { unsafe separateTrailers.append(line) }
            return .partial
        }
        guard isBlank else {
            // libcurl takes each line that starts with CR for the end of the head, whatever follows.
            guard let first = unsafe line.first, first != UInt8(ascii: "\r") else {
                return .refused(.malformedResponse)
            }
            unsafe head.append(line)
            return .partial
        }
        return completeHead()
    }

    private mutating func completeHead() -> Line {
        guard let status = head.status else { return .refused(.malformedResponse) }
        guard let framing = head.framing else {
            return .refused(.malformedResponse, detail: "the fields that tell its length are invalid or contradictory")
        }
        defer { head = CurlResponseHead() }
        // After a 101 the connection uses another protocol: the response is final.
        guard status >= 200 || status == 101 else {
            informational.append(head)
            return .partial
        }
        self.status = status
        if answersHead || status == 204 || status == 304 {
            missingBytes = 0
        } else {
            missingBytes = framing.length
            if decodesChunks, framing.isChunked, head.isOfHTTP1 { chunks = CurlChunkedDecoder() }
            endsWithConnection = head.isOfHTTP1 && !framing.isPresent
        }
        return .complete(head)
    }

    /// Moves content to a buffer, without its chunked coding.
    mutating func decode(_ content: UnsafeRawBufferPointer, into buffer: inout CurlContentBuffer) -> Content {
        guard hasHead else { return .malformed }
        if chunks != nil {
            let isValid = unsafe chunks?.decode(content) { unsafe buffer.append($0) } ?? false
            guard isValid else { return .malformed }
        } else {
            missingBytes? -= Int64(content.count)
            unsafe buffer.append(content)
        }
        return isComplete ? .last : .part
    }
}

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
