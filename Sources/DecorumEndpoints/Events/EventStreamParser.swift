public import Foundation

/// Reads the bytes of a stream of server-sent events, in pieces of any size (WHATWG HTML, section 9.2.6).
///
/// ```swift
/// var parser = EventStreamParser()
/// parser.append(chunk)
/// while let event = try parser.next() { show(event) }
/// ```
///
/// Lines end with a line feed, a carriage return or both, wherever the pieces are split. Bytes that are not UTF-8 become
/// U+FFFD. An event that the stream ends in is not complete, and is never given.
///
/// The parser keeps one piece and the event that it belongs to: take all events of a piece before the next one.
public struct EventStreamParser: Sendable {
    /// The largest number of bytes of an event, and of a line.
    public let limit: Int
    /// The identifier of the last complete event that had one; an empty one where the server has taken it back.
    public private(set) var lastEventID: String
    /// The time that the server asks to wait before connecting again; nil where it does not ask.
    public private(set) var retry: Duration?

    private var chunk = Data()
    private var offset = 0
    /// The begin of a line whose end has not arrived.
    private var line: [UInt8] = []
    private var hasEndedWithReturn = false
    private var isAtStart = true

    /// The lines of data so far; nil without one.
    private var data: String?
    private var type = "message"
    private var nextID: String

    /// Creates a parser for the bytes of one response.
    ///
    /// - Parameters:
    ///   - lastEventID: The identifier that holds until the stream names another.
    ///   - limit: The largest number of bytes of an event, and of a line.
    public init(lastEventID: String = "", limit: Int = 1 << 20) {
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
    ///
    /// - Parameter chunk: The bytes.
    public mutating func append(_ chunk: Data) {
        self.chunk = offset < self.chunk.count ? self.chunk.dropFirst(offset) + chunk : chunk
        offset = 0
    }

    /// Reads the next event out of the bytes so far.
    ///
    /// - Returns: The event; nil where it takes more bytes.
    /// - Throws: ``EventStreamError`` where an event or a line is longer than the limit.
    public mutating func next() throws -> ServerSentEvent? {
        guard offset < chunk.count else { return nil }
        let bytes = chunk
        return try unsafe bytes.withUnsafeBytes { try unsafe next(in: $0) }
    }

    // The pointers of this and the following functions are those of a closure, and no function keeps one.
    private mutating func next(in bytes: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        while offset < bytes.count {
            if hasEndedWithReturn {
                hasEndedWithReturn = false
                if unsafe bytes[offset] == .lineFeed {
                    offset += 1
                    continue
                }
            }
            let end = unsafe bytes.endOfLine(from: offset)
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<end])
            guard end < bytes.count else {
                try unsafe keep(part)
                break
            }
            hasEndedWithReturn = unsafe bytes[end] == .carriageReturn
            offset = end + 1
            if let event = try unsafe finishLine(with: part) { return event }
        }
        chunk = Data()
        offset = 0
        return nil
    }

    /// Keeps the begin of a line until its end arrives.
    private mutating func keep(_ part: UnsafeRawBufferPointer) throws {
        guard line.count + (data?.utf8.count ?? 0) + part.count <= limit else {
            throw EventStreamError(longerThan: limit)
        }
        unsafe line.append(contentsOf: part)
    }

    private mutating func finishLine(with part: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        guard !line.isEmpty else { return try unsafe read(part) }
        try unsafe keep(part)
        defer { line.removeAll(keepingCapacity: true) }
        let line = line
        return try unsafe line.withUnsafeBytes { try unsafe read($0) }
    }

    /// Reads a line without its end.
    private mutating func read(_ line: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        var line = unsafe line
        if isAtStart {
            isAtStart = false
            if unsafe line.starts(with: [0xEF, 0xBB, 0xBF]) {
                unsafe line = unsafe UnsafeRawBufferPointer(rebasing: line[3...])
            }
        }
        guard unsafe !line.isEmpty else { return takeEvent() }
        let nameEnd = unsafe line.firstIndex(of: .colon) ?? line.count
        var valueStart = min(nameEnd + 1, line.count)
        if valueStart < line.count, unsafe line[valueStart] == 0x20 { valueStart += 1 }
        let value = unsafe UnsafeRawBufferPointer(rebasing: line[valueStart...])
        switch unsafe Field(UnsafeRawBufferPointer(rebasing: line[..<nameEnd])) {
        case .data:
            guard (data.map { $0.utf8.count + 1 } ?? 0) + value.count <= limit else {
                throw EventStreamError(longerThan: limit)
            }
            // A line feed is part of no longer sequence of UTF-8, so lines can be decoded one by one.
            let text = unsafe String(decoding: value, as: UTF8.self)
            if data == nil { data = text } else { data? += "\n" + text }
        case .type:
            guard value.count <= limit else { throw EventStreamError(longerThan: limit) }
            type = unsafe value.isEmpty ? "message" : String(decoding: value, as: UTF8.self)
        case .id:
            guard value.count <= limit else { throw EventStreamError(longerThan: limit) }
            if unsafe !value.contains(0) { nextID = unsafe String(decoding: value, as: UTF8.self) }
        case .retry: retry = unsafe Self.time(value) ?? retry
        case nil: break
        }
        return nil
    }

    /// The event that a blank line completes; nil where it has no field `data`.
    private mutating func takeEvent() -> ServerSentEvent? {
        lastEventID = nextID
        defer { type = "message" }
        guard let data = data.take() else { return nil }
        return ServerSentEvent(type: type, data: data, id: nextID)
    }

    /// The milliseconds of a field `retry`; nil where it has another character than digits, or none.
    private static func time(_ value: UnsafeRawBufferPointer) -> Duration? {
        guard unsafe !value.isEmpty, unsafe value.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let milliseconds = unsafe value.reduce(0) { min($0 * 10 + Int64($1 - 0x30), 1 << 53) }
        return .milliseconds(milliseconds)
    }
}

extension EventStreamParser {
    /// The fields that have a meaning; all others are ignored, and so are comments, whose name is empty.
    private enum Field {
        case data
        case type
        case id
        case retry

        init?(_ name: UnsafeRawBufferPointer) {
            switch name.count {
            case 2 where unsafe name.holds("id"): self = .id
            case 4 where unsafe name.holds("data"): self = .data
            case 5 where unsafe name.holds("event"): self = .type
            case 5 where unsafe name.holds("retry"): self = .retry
            default: return nil
            }
        }
    }
}

extension UInt8 {
    fileprivate static let lineFeed: UInt8 = 0x0A
    fileprivate static let carriageReturn: UInt8 = 0x0D
    fileprivate static let colon: UInt8 = 0x3A
}

extension UnsafeRawBufferPointer {
    /// The index of the next line feed or carriage return; the number of bytes where there is none.
    fileprivate func endOfLine(from start: Int) -> Int {
        var index = start
        // Eight bytes at a time: the highest bit of a byte is set where the byte is one of the two, up to the first of them.
        while index + 8 <= count {
            let word = unsafe UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let (feeds, returns) = (word ^ 0x0A0A_0A0A_0A0A_0A0A, word ^ 0x0D0D_0D0D_0D0D_0D0D)
            let ones: UInt64 = 0x0101_0101_0101_0101
            let hits = ((feeds &- ones) & ~feeds | (returns &- ones) & ~returns) & 0x8080_8080_8080_8080
            if hits != 0 { return index + hits.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count {
            let byte = unsafe self[index]
            if byte == .lineFeed || byte == .carriageReturn { return index }
            index += 1
        }
        return index
    }

    /// Whether these are the bytes of a text with the same number of bytes.
    fileprivate func holds(_ text: StaticString) -> Bool {
        guard let bytes = baseAddress else { return count == 0 }
        return unsafe memcmp(bytes, text.utf8Start, count) == 0
    }
}
