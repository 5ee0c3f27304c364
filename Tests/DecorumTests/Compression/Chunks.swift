import Decorum
import Foundation
import HTTPTypes

/// A body that gives bytes in chunks of a size, and then trailer fields or a failure.
struct ChunkedDataReader: BodyReader {
    var rest: Data
    let size: Int
    var trailers: HTTPFields?
    var failure: (any Error)?

    mutating func next() async throws -> Data? {
        guard !rest.isEmpty else {
            if let failure { throw failure }
            return nil
        }
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size)
    }
}

extension Body {
    /// A body that is read once, chunk by chunk.
    init(chunksOf data: Data, of size: Int, trailers: HTTPFields? = nil, failure: (any Error)? = nil) {
        self.init(length: failure == nil ? Int64(data.count) : nil, replay: .once) { _ in
            ChunkedDataReader(rest: data, size: size, trailers: trailers, failure: failure)
        }
    }
}
