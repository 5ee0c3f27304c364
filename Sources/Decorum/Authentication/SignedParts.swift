public import Foundation
public import HTTPTypes

extension Request {
    /// The items of the query, decoded; a `+` stays a plus sign.
    public var queryItems: [QueryItem] {
        guard let path = head.path, let mark = path.firstIndex(of: "?") else { return [] }
        return QueryItem.items(of: path[path.index(after: mark)...], plusIsBlank: false)
    }

    /// The items of the form in the body; nil if the `Content-Type` is not `application/x-www-form-urlencoded`.
    ///
    /// - Parameter limit: The largest number of bytes to read.
    /// - Returns: The items, decoded, in their order.
    /// - Throws: ``BodyReadTwiceError`` for a body that can be read once, since it could not be sent any more;
    ///   ``BodyLimitError``, or the error that prevents reading.
    public func formItems(upTo limit: Int = 1 << 20) async throws -> [QueryItem]? {
        let type = head.headerFields[.contentType]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        guard type?.lowercased() == "application/x-www-form-urlencoded" else { return nil }
        guard body.replay > .once || body.isEmpty else { throw BodyReadTwiceError() }
        return QueryItem.items(of: try await body.text(upTo: limit), plusIsBlank: true)
    }
}

extension Body {
    /// Folds the content into a value while it is read, such as a hash, and adds trailer fields made of it.
    ///
    /// ```swift
    /// request.body = request.body.folding(SHA256()) { hash, chunk in
    ///     hash.update(data: chunk)
    /// } trailers: { hash, _ in
    ///     [digestField: "sha-256=:\(Data(hash.finalize()).base64EncodedString()):"]
    /// }
    /// ```
    ///
    /// Each reading starts with the initial value. A body that is read from another offset than 0 is read as it is.
    ///
    /// - Parameters:
    ///   - initial: The value before the first chunk.
    ///   - update: Adds a chunk to the value.
    ///   - trailers: Makes trailer fields of the value at the end of the content, which follow those of the body itself; if it
    ///     throws, reading ends with the error, as for content that does not have its digest.
    /// - Returns: A body with the same content.
    public func folding<Value: Sendable>(
        _ initial: Value, _ update: @escaping @Sendable (inout Value, Data) -> Void,
        trailers: @escaping @Sendable (Value, _ ofBody: HTTPFields?) async throws -> HTTPFields?
    ) -> Body {
        Body(trustedLength: length, replay: replay) { offset in
            let reader = try await open(at: offset)
            guard offset == 0 else { return reader }
            return FoldingBodyReader(reader: reader, value: initial, update: update, makeTrailers: trailers)
        }.typed(like: self)
    }
}

private struct FoldingBodyReader<Value>: BodyReader {
    var reader: any BodyReader
    var value: Value
    let update: @Sendable (inout Value, Data) -> Void
    let makeTrailers: @Sendable (Value, HTTPFields?) async throws -> HTTPFields?
    private(set) var trailers: HTTPFields?
    private var isAtEnd = false

    init(
        reader: any BodyReader, value: Value, update: @escaping @Sendable (inout Value, Data) -> Void,
        makeTrailers: @escaping @Sendable (Value, HTTPFields?) async throws -> HTTPFields?
    ) {
        (self.reader, self.value, self.update, self.makeTrailers) = (reader, value, update, makeTrailers)
    }

    mutating func next() async throws -> Data? {
        guard !isAtEnd else { return nil }
        if let chunk = try await reader.next() {
            update(&value, chunk)
            return chunk
        }
        trailers = try await makeTrailers(value, reader.trailers)
        isAtEnd = true
        return nil
    }
}
