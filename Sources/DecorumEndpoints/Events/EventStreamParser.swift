import Decorum
public import Foundation

/// Reads the bytes of a stream of server-sent events, in pieces of any size (WHATWG HTML, section 9.2.6).
///
/// Lines end with a line feed, a carriage return or both, wherever the pieces are split. Bytes that are not UTF-8 become
/// U+FFFD. If the stream ends within an event, the event is not complete, and is never returned.
///
/// The parser keeps the lines that were not read yet, so take all events of a piece before the next one.
package struct EventStreamParser: Sendable {
    /// The largest number of bytes of an event's data, together with the line that is read.
    package let limit: Int
    /// The identifier of the last complete event that had one; empty if the server has taken it back.
    package private(set) var lastEventID: String
    /// The time that the server asks to wait before connecting again; nil if it does not ask.
    package private(set) var retry: Duration?

    /// The begin of a line whose end has not arrived, and the lines behind it.
    private var bytes: [UInt8] = []
    private var lineStart = 0
    /// The places of the next line feed and carriage return, or before them the place up to which the search has come.
    private var (nextFeed, nextReturn) = (0, 0)
    private var hasEndedWithReturn = false
    private var isAtStart = true

    /// The lines of data so far; nil without one.
    private var data: String?
    private var type = "message"
    private var nextID: String

    /// Creates a parser for the bytes of one response; the identifier holds until the stream names another.
    package init(lastEventID: String = "", limit: Int = 1 << 20) {
        self.lastEventID = lastEventID
        self.limit = limit
        nextID = lastEventID
    }

    /// Creates a parser for the response after the one that another parser has read.
    init(resuming parser: EventStreamParser) {
        self.init(lastEventID: parser.lastEventID, limit: parser.limit)
        retry = parser.retry
    }

    /// Adds the next bytes.
    package mutating func append(_ chunk: Data) {
        bytes.removeSubrange(..<lineStart)
        // An index behind all bytes means that the search goes on there.
        nextFeed = max(0, nextFeed - lineStart)
        nextReturn = max(0, nextReturn - lineStart)
        lineStart = 0
        bytes.append(contentsOf: chunk)
    }

    /// Reads the next event out of the bytes so far.
    ///
    /// - Returns: The event; nil if it takes more bytes.
    /// - Throws: ``EventStreamError`` if an event or a line is longer than the limit.
    package mutating func next() throws -> ServerSentEvent? {
        let bytes = bytes
        return try unsafe bytes.withUnsafeBytes { try unsafe next(in: $0) }
    }

    // The pointers of this and the following functions belong to a closure, and no function keeps one.
    private mutating func next(in bytes: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        while lineStart < bytes.count {
            if hasEndedWithReturn {
                hasEndedWithReturn = false
                if unsafe bytes[lineStart] == .lineFeed {
                    lineStart += 1
                    continue
                }
            }
            unsafe bytes.advance(&nextFeed, to: .lineFeed, from: lineStart)
            unsafe bytes.advance(&nextReturn, to: .carriageReturn, from: lineStart)
            let end = min(nextFeed, nextReturn)
            // The rule is the same for a line that is complete and one that is not, so it does not depend on the pieces.
            guard end - lineStart + (data?.utf8.count ?? 0) <= limit else { throw EventStreamError(longerThan: limit) }
            guard end < bytes.count else { return nil }
            let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[lineStart..<end])
            hasEndedWithReturn = end == nextReturn
            lineStart = end + 1
            if unsafe line.isEmpty {
                isAtStart = false
                if let event = takeEvent() { return event }
            } else {
                unsafe read(line)
            }
        }
        return nil
    }

    /// Reads a line with at least one byte, without its end.
    private mutating func read(_ line: UnsafeRawBufferPointer) {
        if isAtStart {
            isAtStart = false
            if unsafe line.starts(with: [0xEF, 0xBB, 0xBF]) {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: line[3...])
                if unsafe rest.isEmpty { _ = takeEvent() } else { unsafe read(rest) }
                return
            }
        }
        // Other fields are ignored, and so are comments, whose name is empty.
        switch unsafe line[0] {
        case UInt8(ascii: "d"): if let value = unsafe line.value(of: "data") { unsafe addData(value) }
        case UInt8(ascii: "e"):
            guard let value = unsafe line.value(of: "event") else { return }
            type = unsafe value.isEmpty ? "message" : String(decoding: value, as: UTF8.self)
        case UInt8(ascii: "i"):
            guard let value = unsafe line.value(of: "id"), unsafe !value.contains(0) else { return }
            nextID = unsafe String(decoding: value, as: UTF8.self)
        case UInt8(ascii: "r"): retry = unsafe line.value(of: "retry").flatMap { unsafe Self.time($0) } ?? retry
        default: break
        }
    }

    private mutating func addData(_ value: UnsafeRawBufferPointer) {
        // A line feed is part of no longer sequence of UTF-8, so lines can be decoded one by one.
        let text = unsafe String(decoding: value, as: UTF8.self)
        guard data != nil else {
            data = text
            return
        }
        data?.append("\n")
        data?.append(text)
    }

    /// The event that a blank line completes; nil if it has no field `data`.
    private mutating func takeEvent() -> ServerSentEvent? {
        lastEventID = nextID
        defer { type = "message" }
        guard let data = data.take() else { return nil }
        return ServerSentEvent(type: type, data: data, id: nextID)
    }

    /// The milliseconds of a field `retry`; nil if it has another character than digits, or none.
    private static func time(_ value: UnsafeRawBufferPointer) -> Duration? {
        guard unsafe !value.isEmpty, unsafe value.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let milliseconds = unsafe value.reduce(0) { min($0 * 10 + Int64($1 - 0x30), 1 << 53) }
        return .milliseconds(milliseconds)
    }
}

extension EventStreamParser: SecretHolder {
    /// The number of bytes that wait for the end of their line; never content.
    package var description: String { "parser with \(bytes.count - lineStart) bytes of an incomplete line" }
}

extension UInt8 {
    fileprivate static let lineFeed: UInt8 = 0x0A
    fileprivate static let carriageReturn: UInt8 = 0x0D
    fileprivate static let colon: UInt8 = 0x3A
}

extension UnsafeRawBufferPointer {
    /// Moves an index to the next place of a byte, unless it is there; to the number of bytes without one.
    @inline(__always) fileprivate func advance(_ index: inout Int, to byte: UInt8, from start: Int) {
        if index < count, index >= start, unsafe self[index] == byte { return }
        let start = Swift.max(index, start)
        guard start < count, let base = baseAddress else {
            index = count
            return
        }
        let place = unsafe memchr(base + start, Int32(byte), count - start)
        index = unsafe place.map { unsafe UnsafeRawPointer($0) - base } ?? count
    }

    /// The value of a field, without the blank before it; nil for a line that has another field.
    @inline(__always) fileprivate func value(of name: StaticString) -> UnsafeRawBufferPointer? {
        let length = name.utf8CodeUnitCount
        guard count >= length, let base = baseAddress, unsafe memcmp(base, name.utf8Start, length) == 0 else {
            return nil
        }
        guard count > length else { return unsafe UnsafeRawBufferPointer(rebasing: self[length...]) }
        guard unsafe self[length] == .colon else { return nil }
        let hasBlank = unsafe count > length + 1 && self[length + 1] == 0x20
        return unsafe UnsafeRawBufferPointer(rebasing: self[(length + (hasBlank ? 2 : 1))...])
    }
}

/// One event of a stream of server-sent events (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable {
    /// The type that the field `event` names, or `message` without such a field.
    public var type: String
    /// The lines of the fields `data`, joined by line feeds.
    public var data: String
    /// The last identifier that the server has sent, with this event or before it; empty without one.
    ///
    /// A stream that begins with this identifier, by `after:` of `events(of:)`, goes on after this event.
    public var id: String
    /// The decoder of the API whose stream gave the event; nil for any other event.
    var decoder: JSONDecoder?

    /// Creates an event; each parameter is the property of its name.
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
    /// - Throws: `ResponseDecodingError` of the core, which says where the content is wrong and quotes nothing of it.
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

extension ServerSentEvent: SecretHolder {
    /// The number of bytes of the data, which may be secret, and so may the type and the identifier.
    public var description: String { "event of \(data.utf8.count) bytes" }
}

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
