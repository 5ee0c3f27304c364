#if os(Linux)
import DecorumCurl
import Foundation
import HTTPTypes

/// The content of a request between one producer and libcurl, its consumer.
struct CurlUpload: Sendable {
    /// The producer waits while this many bytes are to be sent, and goes on when half of them were taken.
    ///
    /// These are four chunks of a file. With half of it, libcurl took the last chunk before the producer was awake, and
    /// both waited for each other.
    private static let highMark = 1 << 20
    /// What waits to be sent, and the buffer of libcurl.
    static let bytesHeld = highMark + CurlOptions.bufferSize

    /// The answer to libcurl when it asks for content.
    enum Supply: Equatable {
        case bytes(Int)
        case nothing
        case end
        /// The content has ended before its length.
        case short
    }

    let length: Int64?
    /// The body that a task reads; nil where all content is in memory.
    private(set) var source: Body?
    private var chunks: ArraySlice<Data> = []
    private var waiting = 0
    private var supplied: Int64 = 0
    private var isComplete = false
    private(set) var trailers: HTTPFields?
    private var producer: CheckedContinuation<Bool, Never>?

    /// Takes a body; a file is checked away from the caller's actor.
    init(_ body: Body) async throws {
        length = body.length
        switch body.storage {
        case .bytes(let data):
            if !data.isEmpty { chunks = [data] }
            isComplete = true
        case .file(let file):
            try await Self.check(file)
            source = body
        case .stream:
            if body.isEmpty { isComplete = true } else { source = body }
        }
    }

    @concurrent private static func check(_ file: BodyFile) async throws {
        do {
            guard try BodyFile(file.url) == file else { throw BodyLengthError() }
        } catch {
            throw TransportError(.unreadableBody, at: .connecting, underlying: error)
        }
    }

    /// Whether there is nothing to send; an empty body of unknown length is sent.
    var isEmpty: Bool { length == 0 }

    /// Adds a chunk; returns whether the producer may continue at once, and otherwise keeps its continuation.
    mutating func offer(_ chunk: Data, from producer: CheckedContinuation<Bool, Never>) -> Bool {
        chunks.append(chunk)
        waiting += chunk.count
        guard waiting >= Self.highMark else { return true }
        self.producer = producer
        return false
    }

    mutating func finish(trailers: HTTPFields?) {
        isComplete = true
        self.trailers = trailers
    }

    /// Discards all content and returns the producer, if it waits.
    mutating func discard() -> CheckedContinuation<Bool, Never>? {
        chunks = []
        source = nil
        return producer.take()
    }

    /// Moves content to a buffer, and returns the producer where it may continue.
    mutating func supply(
        _ buffer: UnsafeMutableRawBufferPointer
    ) -> (supply: Supply, producer: CheckedContinuation<Bool, Never>?) {
        var count = 0
        while count < buffer.count, let chunk = chunks.first {
            let part = chunk.prefix(buffer.count - count)
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
            count += part.count
            if part.count < chunk.count {
                chunks[chunks.startIndex] = chunk.dropFirst(part.count)
            } else {
                chunks.removeFirst()
            }
        }
        supplied += Int64(count)
        if source != nil { waiting -= count }
        let released = waiting <= Self.highMark / 2 ? producer.take() : nil
        guard count == 0 else { return (.bytes(count), released) }
        guard isComplete else { return (.nothing, released) }
        return (supplied < length ?? 0 ? .short : .end, released)
    }
}
#endif
