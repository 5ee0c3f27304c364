import Decorum
public import Foundation

extension EventStream {
    /// Decodes the data of each event as JSON.
    ///
    /// ```swift
    /// let tokens = try api.events(of: .answer(to: question)).values(of: Token.self, until: "[DONE]")
    /// for try await token in tokens { show(token.text) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - end: The data of the event that ends the stream, as language models send it; nil for a stream that the server
    ///     ends otherwise.
    ///   - decoder: The decoder; nil for that of the API.
    /// - Returns: The values. Each loop over them is a stream of its own.
    public func values<Value: Decodable & Sendable>(
        of type: Value.Type, until end: String? = nil, using decoder: JSONDecoder? = nil
    ) -> EventValues<Value> {
        EventValues(stream: self, end: end, decoder: decoder)
    }
}

/// The values that the events of a stream have in JSON.
///
/// It throws `ResponseDecodingError` for an event whose data is something else, and as ``EventStream`` does.
public struct EventValues<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// The type of the values.
    public typealias Element = Value

    fileprivate let stream: EventStream
    fileprivate let end: String?
    fileprivate let decoder: JSONDecoder?

    /// Makes an iterator, which sends the request for its first value.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(events: stream.makeAsyncIterator(), end: end, decoder: decoder)
    }

    /// Reads the values of one stream.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The events; nil after the last value, so that the transfer ends.
        fileprivate var events: EventStream.AsyncIterator?
        fileprivate let end: String?
        fileprivate let decoder: JSONDecoder?

        /// Reads the next value.
        public mutating func next() async throws -> Value? {
            try await next(isolation: #isolation)
        }

        /// Reads the next value on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
            guard var events = events.take(), let event = try await events.next(isolation: actor),
                event.data != end
            else { return nil }
            let value = try await event.decode(Value.self, using: decoder)
            self.events = events
            return value
        }
    }
}

@available(*, unavailable)
extension EventValues.AsyncIterator: Sendable {}
