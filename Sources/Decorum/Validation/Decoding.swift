public import Foundation

extension Response {
    /// Reads the whole body as JSON.
    ///
    /// ```swift
    /// let items = try await response.decode([Item].self, upTo: 1 << 20)
    /// ```
    ///
    /// It decodes on the caller's actor, so that types of the main actor can be decoded there. For large content, call
    /// it from a `@concurrent` function.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - limit: The largest number of bytes to accept.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: As ``Body/collect(upTo:)``, or ``ResponseDecodingError``. The descriptions of these errors name the
    ///   response: its status, its media type, its URL without the query, and the route name.
    public func decode<Value: Decodable>(
        _ type: Value.Type, upTo limit: Int, using decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        try decode(type, from: try await data(upTo: limit), using: decoder)
    }

    /// Decodes JSON that was read from the body before, as by ``data(upTo:)``.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - content: The content.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: ``ResponseDecodingError``, which names the response.
    public func decode<Value: Decodable>(
        _ type: Value.Type, from content: Data, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: content)
        } catch {
            throw ResponseDecodingError(type, content, error, by: decoder, response: self)
        }
    }

    /// Reads the whole body, within the time of the call where ``Connection/limitingTime(_:clock:)`` sets one.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content.
    /// - Throws: As ``Body/collect(upTo:)``; the descriptions of the errors name the response.
    public func data(upTo limit: Int) async throws -> Data {
        do {
            return try await readInTime { try await $0.data(upTo: limit) }
        } catch {
            throw ResponseSubject.complete(error, self)
        }
    }
}

extension Body {
    /// Reads the whole body as JSON.
    ///
    /// For the body of a response, ``Response/decode(_:upTo:using:)`` has errors that say more. It decodes on the caller's
    /// actor, so that types of the main actor can be decoded there.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - limit: The largest number of bytes to accept.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: As ``collect(upTo:)``, or ``ResponseDecodingError``.
    public func decode<Value: Decodable>(
        _ type: Value.Type, upTo limit: Int, using decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        let data = try await data(upTo: limit)
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw ResponseDecodingError(type, data, error, by: decoder, response: nil)
        }
    }
}
