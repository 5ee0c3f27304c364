import Foundation
import HTTPTypes

/// Reads a body and undoes its codings.
struct DecodingBodyReader: BodyReader {
    /// The reader of the coded body; nil after content that cannot be decoded, so that its transfer ends.
    private var reader: (any BodyReader)?
    private let decoder: ContentDecoder
    private var unfed = Data()
    private var isLarge = false
    private var isAtEnd = false

    /// The bytes that are fed at a time, so that each step of decoding is short: 64 KiB.
    private static let pieceSize = 64 << 10
    /// The bytes whose decoding costs less than leaving the caller's actor.
    private static let inlineSize = 4 << 10

    init(_ reader: any BodyReader, _ decoder: ContentDecoder) {
        self.reader = reader
        self.decoder = decoder
    }

    mutating func next() async throws -> Data? {
        guard !isAtEnd else { return nil }
        while true {
            if let part = try await decoded() { return part }
            if unfed.isEmpty {
                guard let chunk = try await reader?.next() else {
                    return try end()
                }
                unfed = chunk
            }
            try Task.checkCancellation()
            let piece = unfed.prefix(Self.pieceSize)
            unfed = unfed.dropFirst(Self.pieceSize)
            isLarge = piece.count > Self.inlineSize
            decoder.feed(piece)
        }
    }

    private mutating func decoded() async throws -> Data? {
        do {
            let part = try await isLarge ? Self.decodeElsewhere(decoder) : decoder.next()
            // A few coded bytes may be many decoded ones.
            if part?.count == CodingBuffers.size { isLarge = true }
            return part
        } catch {
            reader = nil
            throw error
        }
    }

    private mutating func end() throws -> Data? {
        do {
            try decoder.finish()
        } catch {
            reader = nil
            throw error
        }
        isAtEnd = true
        return nil
    }

    @concurrent private static func decodeElsewhere(_ decoder: ContentDecoder) async throws -> Data? {
        try decoder.next()
    }

    var trailers: HTTPFields? {
        reader?.trailers.map { DecompressionDecision.withoutCodedFields($0) }
    }
}
