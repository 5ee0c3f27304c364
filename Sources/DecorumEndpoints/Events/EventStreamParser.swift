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
/// U+FFFD. If the stream ends within an event, the event is not complete, and is never returned.
///
/// The parser keeps the lines that were not read yet, so take all events of a piece before the next one.
public struct EventStreamParser: Sendable {
    /// The largest number of bytes of an event's data, together with the line that is read.
    public let limit: Int
    /// The identifier of the last complete event that had one; an empty one where the server has taken it back.
    public private(set) var lastEventID: String
    /// The time that the server asks to wait before connecting again; nil where it does not ask.
    public private(set) var retry: Duration?

    /// The begin of a line whose end has not arrived, and the lines behind it.
    private var bytes: [UInt8] = []
    private var lineStart = 0
    /// The places of the next line feed and carriage return, or before them the place up to which there is none.
    private var (nextFeed, nextReturn) = (0, 0)
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
        bytes.removeSubrange(..<lineStart)
        // An index behind all bytes means that the search goes on there.
        nextFeed = max(0, nextFeed - lineStart)
        nextReturn = max(0, nextReturn - lineStart)
        lineStart = 0
        bytes.append(contentsOf: chunk)
    }

    /// Reads the next event out of the bytes so far.
    ///
    /// - Returns: The event; nil where it takes more bytes.
    /// - Throws: ``EventStreamError`` where an event or a line is longer than the limit.
    public mutating func next() throws -> ServerSentEvent? {
        let bytes = bytes
        return try unsafe bytes.withUnsafeBytes { try unsafe next(in: $0) }
    }

    // The pointers of this and the following functions are those of a closure, and no function keeps one.
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

extension EventStreamParser: CustomStringConvertible, CustomReflectable {
    /// The number of bytes that wait for the end of their line; never content.
    public var description: String { "parser with \(bytes.count - lineStart) bytes of an incomplete line" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension UInt8 {
    fileprivate static let lineFeed: UInt8 = 0x0A
    fileprivate static let carriageReturn: UInt8 = 0x0D
    fileprivate static let colon: UInt8 = 0x3A
}

extension UnsafeRawBufferPointer {
    /// Moves an index to the next place of a byte, unless it is there; to the number of bytes where there is none.
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
