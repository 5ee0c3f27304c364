import Foundation
import HTTPTypes

extension Body {
    /// A part of a body that can be read from any offset.
    ///
    /// - Parameter bounds: The offsets of the part, within the body.
    /// - Returns: A body of the part alone.
    func slice(_ bounds: Range<Int64>) -> Body {
        if let bytes {
            let start = bytes.startIndex + Int(bounds.lowerBound)
            return Body(bytes[start..<(start + Int(bounds.upperBound - bounds.lowerBound))])
        }
        let whole = self
        return Body(length: Int64(bounds.count), replay: .fromAnyOffset) { offset in
            LimitedBodyReader(
                reader: try await whole.open(at: bounds.lowerBound + offset),
                remaining: bounds.upperBound - bounds.lowerBound - offset)
        }
    }

    /// This body followed by another body; the result can be read once.
    func followed(by rest: Body) -> Body {
        let first = self
        let length = first.length.flatMap { count in rest.length.map { count + $0 } }
        return Body(trustedLength: length, replay: .once) { _ in
            ChainedBodyReader(reader: try await first.open(), rest: rest)
        }
    }
}

private struct LimitedBodyReader: BodyReader {
    var reader: any BodyReader
    var remaining: Int64

    mutating func next() async throws -> Data? {
        guard remaining > 0, let chunk = try await reader.next() else { return nil }
        let part = chunk.prefix(Int(min(Int64(chunk.count), remaining)))
        remaining -= Int64(part.count)
        return part
    }

    // Trailer fields belong to the whole content, not to a part.
    var trailers: HTTPFields? { nil }
}

private struct ChainedBodyReader: BodyReader {
    var reader: any BodyReader
    var rest: Body?

    mutating func next() async throws -> Data? {
        if let chunk = try await reader.next() { return chunk }
        guard let rest else { return nil }
        self.rest = nil
        reader = try await rest.open()
        return try await reader.next()
    }

    // Once all is read, these are the trailer fields of the last body.
    var trailers: HTTPFields? { reader.trailers }
}
