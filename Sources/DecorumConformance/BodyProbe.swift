import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

/// A body that records how it is read, and whether the transfer that it stands for is still held.
final class BodyProbe: Sendable {
    struct State: Sendable {
        var openings = 0
        var chunksRead = 0
        var bytesRead = 0
        var holders = 0
    }

    private static let chunkSize = 4 << 10

    private let bytes: Data?
    private let monitor = Monitor(State())

    /// Creates a probe with these bytes in a few chunks, or with as many bytes of ``BytePattern`` as the chunks have.
    init(_ bytes: Data? = nil) {
        self.bytes = bytes
    }

    var state: State { monitor.state }
    /// Whether the body or its reader is still held; only for bodies that can be read once.
    var isHeld: Bool { state.holders > 0 }

    /// The whole content of a body with a number of chunks.
    func data(chunks: Int) -> Data { bytes ?? BytePattern.bytes(chunks * Self.chunkSize) }

    /// Whether the body starts with these bytes.
    func matches(_ data: Data) -> Bool { bytes.map { $0.starts(with: data) } ?? BytePattern.matches(data) }

    /// The largest number of bytes in one chunk; given bytes make five chunks, so that some follow the first one.
    var largestChunk: Int { bytes.map { max(1, ($0.count + 4) / 5) } ?? Self.chunkSize }

    /// Makes a body; a failure ends it in place of the last chunk of given bytes, or behind the pattern.
    func body(
        chunks: Int, knowingLength: Bool = false, replay: Body.Replay = .once, trailers: HTTPFields? = nil,
        failure: (any Error)? = nil, gate: Gate? = nil
    ) -> Body {
        let holder = Holder(self)
        let whole = data(chunks: chunks)
        let data = whole.dropLast(failure == nil || bytes == nil ? 0 : largestChunk)
        return Body(length: knowingLength ? Int64(whole.count) : nil, replay: replay) { offset in
            holder.probe.monitor.update { $0.openings += 1 }
            return Reader(
                holder: holder, rest: data.dropFirst(Int(offset)), trailers: trailers, failure: failure, gate: gate)
        }
    }

    private final class Holder: Sendable {
        let probe: BodyProbe

        init(_ probe: BodyProbe) {
            self.probe = probe
            probe.monitor.update { $0.holders += 1 }
        }

        deinit { probe.monitor.update { $0.holders -= 1 } }
    }

    private struct Reader: BodyReader {
        let holder: Holder
        var rest: Data
        let trailers: HTTPFields?
        let failure: (any Error)?
        let gate: Gate?

        mutating func next() async throws -> Data? {
            guard !rest.isEmpty else {
                try await gate?.wait()
                if let failure { throw failure }
                return nil
            }
            let chunk = rest.prefix(holder.probe.largestChunk)
            rest = rest.dropFirst(chunk.count)
            holder.probe.monitor.update { state in
                state.chunksRead += 1
                state.bytesRead += chunk.count
            }
            return chunk
        }
    }
}

extension Body {
    /// The content and the trailers of a body that a case created; each of them is smaller than the limit.
    func collectAll() async throws -> (data: Data, trailers: HTTPFields) {
        try await collect(upTo: 1 << 24)
    }
}

extension Response {
    /// Reads the whole content as text.
    func text() async throws -> String {
        String(decoding: try await body.collectAll().data, as: UTF8.self)
    }
}

extension Data {
    /// The text “hello” in gzip.
    static let gzippedHello = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==") ?? Data()
}
