import Decorum
public import Foundation

/// One event of a stream of server-sent events (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable {
    /// The type: that of the field `event`, or `message` where the server names none.
    public var type: String
    /// The lines of the fields `data`, joined by line feeds.
    public var data: String
    /// The last identifier that the server has sent, with this event or before it; empty where it has sent none.
    ///
    /// A stream that begins with this identifier, by `after:` of `events(of:)`, goes on after this event.
    public var id: String
    /// The decoder of the API whose stream gave the event; nil for any other event.
    var decoder: JSONDecoder?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - type: The type.
    ///   - data: The content.
    ///   - id: The last identifier that the server has sent.
    public init(type: String = "message", data: String, id: String = "") {
        self.type = type
        self.data = data
        self.id = id
    }

    /// Decodes the data as JSON.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; nil for that of the API whose stream gave the event, or else for one without settings.
    /// - Returns: The decoded value.
    /// - Throws: `ResponseDecodingError` of the core, which says where the content is wrong and quotes none of it.
    public func decode<Value: Decodable>(
        _ type: Value.Type, using decoder: JSONDecoder? = nil
    ) async throws -> Value {
        let decoder = decoder ?? self.decoder ?? JSONDecoder()
        let content = Data(data.utf8)
        do {
            return try decoder.decode(type, from: content)
        } catch {
            throw ResponseDecodingError(type, ofEvent: content, error)
        }
    }
}

extension ServerSentEvent: Hashable {
    /// Whether two events have the same type, data and identifier.
    public static func == (one: Self, other: Self) -> Bool {
        (one.type, one.data, one.id) == (other.type, other.data, other.id)
    }

    /// Hashes the type, the data and the identifier.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(data)
        hasher.combine(id)
    }
}

extension ServerSentEvent: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of bytes of the data, which may be secret, and so may the type and the identifier.
    public var description: String { "event of \(data.utf8.count) bytes" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
