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
        guard length ?? 0 <= limit else { throw BodyLimitError(limit: limit, length: length) }
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
}

/// A body has more bytes than the caller accepts.
public struct BodyLimitError: DescribableError, Hashable {
    /// The largest number of bytes that was accepted.
    public let limit: Int
    /// The number of bytes of the body; nil where it was not announced.
    public let length: Int64?
    /// The response with the body, in words; nil where only the body was read.
    var response: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes that was accepted.
    ///   - length: The number of bytes of the body; nil where it was not announced.
    public init(limit: Int, length: Int64? = nil) {
        self.limit = limit
        self.length = length
    }

    /// The limit, the length where it is known, the parameter to raise, and the response where it is known.
    public var description: String {
        let event = length.map { "The body has \($0) bytes, and \(limit) are accepted" }
        let owner = response.map { " It belongs to the \($0)." } ?? ""
        return "\(event ?? "The body has more than \(limit) bytes"). Raise `upTo:` (`limit:` of an `API`), "
            + "or read it chunk by chunk.\(owner)"
    }
}
