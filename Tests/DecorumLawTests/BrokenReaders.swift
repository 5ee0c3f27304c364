import Decorum
import Foundation
import HTTPTypes

struct ReadingAhead: BodyReader {
    var reader: any BodyReader
    var chunks: [Data] = []

    init(reader: any BodyReader) {
        self.reader = reader
    }

    mutating func next() async throws -> Data? {
        while chunks.count < 8, let chunk = try await reader.next() {
            chunks.append(chunk)
        }
        return chunks.isEmpty ? nil : chunks.removeFirst()
    }

    var trailers: HTTPFields? { reader.trailers }
}

struct WithoutTrailers: BodyReader {
    var reader: any BodyReader

    mutating func next() async throws -> Data? {
        try await reader.next()
    }

    var trailers: HTTPFields? { nil }
}

struct Cut: BodyReader {
    var reader: any BodyReader
    var count = 0

    mutating func next() async throws -> Data? {
        guard let chunk = try await reader.next() else { return nil }
        count += chunk.count
        return count > 16 << 10 ? nil : chunk
    }

    var trailers: HTTPFields? { reader.trailers }
}

struct Mapping: BodyReader {
    var reader: any BodyReader
    let map: @Sendable (any Error) -> Result<Data?, any Error>

    mutating func next() async throws -> Data? {
        do {
            return try await reader.next()
        } catch {
            return try map(error).get()
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}

extension Body {
    /// A body of the same length and replay rule, read through another reader; an empty one stays as it is.
    func read(_ wrap: @escaping @Sendable (any BodyReader) -> any BodyReader) -> Body {
        isEmpty ? self : Body(length: length, replay: replay) { wrap(try await open(at: $0)) }
    }
}
