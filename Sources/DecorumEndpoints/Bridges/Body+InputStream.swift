import Decorum
import Foundation
import HTTPTypes

extension Body {
    private static let chunkSize = 1 << 16
    private static let heldSize = 1 << 20

    /// Creates a body from a stream, which becomes one of bytes where it is short, so that it can be sent again.
    init(reading stream: InputStream, length: Int64?) async throws {
        let source = InputStreamSource(stream)
        var start = Data()
        while start.count <= Self.heldSize {
            guard let chunk = try await source.read(upTo: Self.chunkSize) else {
                self.init(start)
                return
            }
            start += chunk
        }
        let prefix = start
        self.init(length: length, replay: .once) { _ in
            InputStreamReader(prefix: prefix, source: source, chunkSize: Self.chunkSize)
        }
    }
}

private struct InputStreamReader: BodyReader {
    var prefix: Data?
    let source: InputStreamSource
    let chunkSize: Int

    mutating func next() async throws -> Data? {
        if let chunk = prefix.take() { return chunk }
        return try await source.read(upTo: chunkSize)
    }

    var trailers: HTTPFields? { nil }
}

/// The end of a stream that is read from, which may block a thread, though not one of the cooperative pool.
///
/// `@unchecked Sendable`, since the stream is touched on `queue` alone, and at the end when there is no other reference.
private final class InputStreamSource: @unchecked Sendable {
    private let stream: InputStream
    private let queue = DispatchQueue(label: "decorum.input-stream")

    init(_ stream: InputStream) {
        self.stream = stream
    }

    deinit { stream.close() }

    /// Reads the next bytes, or nil at the end.
    func read(upTo count: Int) async throws -> Data? {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Data?, any Error>) in
            queue.async { continuation.resume(with: Result { try self.chunk(upTo: count) }) }
        }
    }

    private func chunk(upTo count: Int) throws -> Data? {
        if stream.streamStatus == .notOpen { stream.open() }
        var bytes = Data(count: count)
        let received = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = unsafe buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
            return unsafe stream.read(start, maxLength: count)
        }
        guard received >= 0 else { throw stream.streamError ?? POSIXError(.EIO) }
        return received == 0 ? nil : bytes.prefix(received)
    }
}
