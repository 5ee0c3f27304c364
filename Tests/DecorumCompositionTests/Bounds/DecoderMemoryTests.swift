#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// The memory of decoders, which no body shows, so that a process of its own measures it.
    @Suite(.timeLimit(.minutes(5)), .enabled(if: ContentCoding.brotli.isDecodable)) struct DecoderMemoryTests {
        @Test func `Decompressing holds the windows of all codings`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let connection = ClosureConnection { _ in
                    Response(
                        status: .ok, fields: [.contentEncoding: "br, br, br"],
                        body: Body(length: nil, replay: .once) { _ in ThreefoldReader() })
                }
                .decompressing(DecompressionPolicy(limits: ContentDecodingLimits(maximumLength: 1 << 30)))
                guard case .atMost(let bound) = connection.layers.first?.memory.bytes else { exit(1) }
                let before = ProcessMemory.peak
                var reader = try await connection.send(.get("https://example.com/")).body.open()
                var count = 0
                while let chunk = try await reader.next() { count += chunk.count }
                let held = ProcessMemory.peak - before
                #expect(count == ThreefoldReader.chunk.count * ThreefoldReader.chunkCount)
                #expect(held * 10 > bound * 8, "\(held) of \(bound)")
                #expect(held < bound + (8 << 20), "\(held) of \(bound)")
            }
        }
    }
}

/// Content that is larger than a window, in Brotli three times, with the largest windows (RFC 7932, section 9).
private struct ThreefoldReader: BodyReader {
    static let chunk = Data(repeating: UInt8(ascii: "x"), count: 1 << 16)
    static let chunkCount = 288

    let trailers: HTTPFields? = nil
    private var encoders = [StoredBrotli](repeating: StoredBrotli(), count: 3)
    private var chunks = 0

    mutating func next() async throws -> Data? {
        chunks += 1
        guard chunks <= Self.chunkCount + 1 else { return nil }
        var data = chunks <= Self.chunkCount ? Self.chunk : Data()
        for index in encoders.indices {
            if !data.isEmpty { data = encoders[index].encode(data) }
            if chunks > Self.chunkCount { data.append(StoredBrotli.end) }
        }
        return data
    }
}

/// Wraps data in blocks that are not compressed.
private struct StoredBrotli {
    /// The last block, which is empty.
    static let end: UInt8 = 0b11

    private var isFirst = true

    /// Encodes data of 1 byte to 1 MiB.
    mutating func encode(_ data: Data) -> Data {
        let digits = data.count > 1 << 16 ? 5 : 4
        // Not the last block; the number of digits of the length; the length; not compressed.
        var bits = (digits - 4) << 1 | (data.count - 1) << 3 | 1 << (3 + 4 * digits)
        var count = 4 + 4 * digits
        if isFirst {
            // A window of 16 MiB.
            bits = bits << 4 | 0b1111
            count += 4
        }
        isFirst = false
        return Data((0..<(count + 7) / 8).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }) + data
    }
}
#endif
