import Foundation
import HTTPTypes

/// Reads a body and applies a coding.
struct EncodingBodyReader: BodyReader {
    private var reader: any BodyReader
    private let encoder: ContentEncoder
    private let flushesChunks: Bool
    private var uncoded = Data()
    private var isAtEnd = false

    /// The bytes that are encoded at a time, so that each step is short: 64 KiB.
    static let pieceSize = 64 << 10

    init(_ reader: any BodyReader, _ encoder: ContentEncoder, flushesChunks: Bool) {
        self.reader = reader
        self.encoder = encoder
        self.flushesChunks = flushesChunks
    }

    mutating func next() async throws -> Data? {
        while !isAtEnd {
            if uncoded.isEmpty {
                guard let chunk = try await reader.next() else {
                    isAtEnd = true
                    let rest = try await Self.encode(Data(), with: encoder, flush: .end)
                    return rest.isEmpty ? nil : rest
                }
                uncoded = chunk
            }
            try Task.checkCancellation()
            let piece = uncoded.prefix(Self.pieceSize)
            uncoded = uncoded.dropFirst(Self.pieceSize)
            let flush: ContentEncoder.Flush = flushesChunks && uncoded.isEmpty ? .all : .none
            let coded = try await Self.encode(piece, with: encoder, flush: flush)
            if !coded.isEmpty { return coded }
        }
        return nil
    }

    @concurrent private static func encode(
        _ piece: Data, with encoder: ContentEncoder, flush: ContentEncoder.Flush
    ) async throws -> Data {
        try encoder.encode(piece, flush: flush)
    }

    var trailers: HTTPFields? { reader.trailers }
}
