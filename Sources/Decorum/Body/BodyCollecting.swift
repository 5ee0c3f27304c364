public import Foundation
public import HTTPTypes

extension Body {
    /// Reads the whole body into memory, together with its trailer fields.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content and the trailer fields; the fields are empty when the body has none.
    /// - Throws: ``BodyLimitError`` as soon as there are more bytes, ``BodyReadTwiceError``, or the error that prevents
    ///   reading.
    public func collect(upTo limit: Int) async throws -> (data: Data, trailers: HTTPFields) {
        guard length ?? 0 <= limit else { throw BodyLimitError(limit: limit) }
        if let bytes { return (bytes, [:]) }

        var reader = try await open()
        var data = Data()
        while let chunk = try await reader.next() {
            guard data.count + chunk.count <= limit else { throw BodyLimitError(limit: limit) }
            data.append(chunk)
        }
        return (data, reader.trailers ?? [:])
    }

    /// Reads the whole body into memory.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content.
    /// - Throws: As ``collect(upTo:)``.
    public func data(upTo limit: Int) async throws -> Data {
        try await collect(upTo: limit).data
    }

    /// Reads the whole body as text in UTF-8; invalid bytes become U+FFFD.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content.
    /// - Throws: As ``collect(upTo:)``.
    public func text(upTo limit: Int) async throws -> String {
        String(decoding: try await data(upTo: limit), as: UTF8.self)
    }

    /// Reads the whole body as JSON.
    ///
    /// It decodes on the caller's actor, so that types of the main actor can be decoded there. For large content, call
    /// it from a `@concurrent` function.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - limit: The largest number of bytes to accept.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: As ``collect(upTo:)``, or the decoder's error.
    public func decode<Value: Decodable>(
        _ type: Value.Type, upTo limit: Int, using decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        try decoder.decode(type, from: await data(upTo: limit))
    }
}

/// A body has more bytes than the caller accepts.
public struct BodyLimitError: DescribableError, Hashable {
    /// The largest number of bytes that was accepted.
    public let limit: Int

    /// Creates an error.
    ///
    /// - Parameter limit: The largest number of bytes that was accepted.
    public init(limit: Int) {
        self.limit = limit
    }

    /// A sentence with the limit.
    public var description: String { "The body has more than \(limit) bytes." }
}
