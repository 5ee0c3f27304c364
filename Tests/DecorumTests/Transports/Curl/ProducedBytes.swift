#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// Produces bytes of ``BytePattern`` and counts those that were read.
final class ProducedBytes: Sendable {
    private let produced = Atomic<Int64>(0)

    var count: Int64 { produced.load(ordering: .relaxed) }

    func reader(count: Int64, pieceSize: Int = 64 << 10, trailers: HTTPFields? = nil) -> some BodyReader {
        Reader(owner: self, rest: count, pieceSize: pieceSize, trailers: trailers)
    }

    private struct Reader: BodyReader {
        let owner: ProducedBytes
        var rest: Int64
        let pieceSize: Int
        var offset: Int64 = 0
        let trailers: HTTPFields?

        init(owner: ProducedBytes, rest: Int64, pieceSize: Int, trailers: HTTPFields?) {
            self.owner = owner
            self.rest = rest
            self.pieceSize = pieceSize
            self.trailers = trailers
        }

        mutating func next() async throws -> Data? {
            guard rest > 0 else { return nil }
            let piece = BytePattern.bytes(Int(min(rest, Int64(pieceSize))), at: offset)
            rest -= Int64(piece.count)
            offset += Int64(piece.count)
            owner.produced.wrappingAdd(Int64(piece.count), ordering: .relaxed)
            return piece
        }
    }
}

/// Returns one chunk, and then throws an error.
struct FailingReader: BodyReader {
    let error: any Error
    var hasGiven = false

    init(error: any Error) {
        self.error = error
    }

    mutating func next() async throws -> Data? {
        guard !hasGiven else { throw error }
        hasGiven = true
        return Data("a".utf8)
    }

    var trailers: HTTPFields? { nil }
}
#endif
