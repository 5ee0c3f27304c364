import HTTPTypes

/// Takes requests apart, byte for byte as RFC 9112 has it, and refuses what it does not allow.
///
/// It is strict where a server may be lenient, so that a client's mistake comes to light: no bare LF, no folded lines,
/// no whitespace before a colon, no `Content-Length` beside `Transfer-Encoding`.
struct RequestParser: Sendable {
    struct Head: Sendable, Equatable {
        var method: HTTPRequest.Method
        var target: String
        var version: String
        var fields: RawFields
        /// Every byte up to and including the blank line.
        var bytes: [UInt8]
    }

    enum Event: Sendable, Equatable {
        case head(Head)
        case body([UInt8])
        case end(trailers: RawFields)
    }

    private enum State {
        case head
        case content(remaining: Int64)
        case chunkSize
        case chunk(remaining: Int64)
        case chunkEnd
        case trailers
    }

    private let headLimit: Int
    private var state = State.head
    private var input = ByteQueue()
    private var lines: [String] = []
    private var headBytes: [UInt8] = []
    private var rawBytes: [UInt8] = []

    init(headLimit: Int) {
        self.headLimit = headLimit
    }

    /// Whether bytes have come that belong to no event yet.
    var hasUnreadBytes: Bool { !input.isEmpty || !headBytes.isEmpty }

    mutating func feed(_ bytes: [UInt8]) {
        input.append(bytes)
    }

    /// Takes the bytes of a chunked body as they came, since the last time; nil for a body without a coding.
    mutating func takeRawBytes() -> [UInt8]? {
        defer { rawBytes = [] }
        return rawBytes.isEmpty ? nil : rawBytes
    }

    /// Gives the next event, or nil where it takes more bytes.
    mutating func next() throws(RequestSyntaxError) -> Event? {
        while true {
            switch state {
            case .head:
                guard let head = try parseHead() else { return nil }
                return .head(head)
            case .content(let remaining):
                guard remaining > 0 else { return end(trailers: [:]) }
                guard let bytes = input.take(upTo: remaining) else { return nil }
                state = .content(remaining: remaining - Int64(bytes.count))
                return .body(bytes)
            case .chunkSize:
                guard let line = try takeChunkedLine() else { return nil }
                let size = try RequestSyntax.chunkSize(line)
                state = size == 0 ? .trailers : .chunk(remaining: size)
            case .chunk(let remaining):
                guard let bytes = input.take(upTo: remaining) else { return nil }
                rawBytes += bytes
                state = Int64(bytes.count) == remaining ? .chunkEnd : .chunk(remaining: remaining - Int64(bytes.count))
                return .body(bytes)
            case .chunkEnd:
                guard let line = try takeChunkedLine() else { return nil }
                guard line.isEmpty else { throw .badRequest("A chunk is longer than its size says.") }
                state = .chunkSize
            case .trailers:
                guard let line = try takeChunkedLine() else { return nil }
                guard line.isEmpty else {
                    lines.append(line)
                    guard lines.reduce(0, { $0 + $1.utf8.count }) <= headLimit else { throw .headTooLarge }
                    continue
                }
                return end(trailers: try RequestSyntax.fields(lines))
            }
        }
    }

    private mutating func end(trailers: RawFields) -> Event {
        lines = []
        state = .head
        return .end(trailers: trailers)
    }

    private mutating func parseHead() throws(RequestSyntaxError) -> Head? {
        while let bytes = try input.takeLine(upTo: headLimit - headBytes.count) {
            let line = String(decoding: bytes.dropLast(2), as: UTF8.self)
            // A server ignores empty lines before a request (RFC 9112, section 2.2).
            if line.isEmpty, lines.isEmpty { continue }
            headBytes += bytes
            guard line.isEmpty else {
                lines.append(line)
                continue
            }
            let head = try RequestSyntax.head(lines, bytes: headBytes)
            state =
                switch try RequestSyntax.framing(head) {
                case .none: .content(remaining: 0)
                case .length(let length): .content(remaining: length)
                case .chunked: .chunkSize
                }
            lines = []
            headBytes = []
            return head
        }
        return nil
    }

    private mutating func takeChunkedLine() throws(RequestSyntaxError) -> String? {
        guard let bytes = try input.takeLine(upTo: headLimit) else { return nil }
        rawBytes += bytes
        return String(decoding: bytes.dropLast(2), as: UTF8.self)
    }
}

/// Bytes that have arrived and are taken from the front.
private struct ByteQueue: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0
    /// The position at which the search for the end of the line goes on, so that no byte is searched twice.
    private var searched = 0

    var isEmpty: Bool { start == bytes.count }

    mutating func append(_ new: [UInt8]) {
        guard start < bytes.count else {
            (bytes, start, searched) = (new, 0, 0)
            return
        }
        if start > 0 {
            bytes.removeFirst(start)
            (start, searched) = (0, searched - start)
        }
        bytes += new
    }

    mutating func take(upTo count: Int64) -> [UInt8]? {
        guard !isEmpty else { return nil }
        let end = start + Int(min(count, Int64(bytes.count - start)))
        defer { (start, searched) = (end, end) }
        return Array(bytes[start..<end])
    }

    /// Takes a line with its line break.
    mutating func takeLine(upTo limit: Int) throws(RequestSyntaxError) -> [UInt8]? {
        while searched < bytes.count, searched - start < limit {
            let byte = bytes[searched]
            searched += 1
            guard byte == 0x0A else { continue }
            guard searched - start >= 2, bytes[searched - 2] == 0x0D else {
                throw .badRequest("A line ends in a bare LF.")
            }
            defer { start = searched }
            return Array(bytes[start..<searched])
        }
        guard isEmpty || searched - start < limit else { throw .headTooLarge }
        return nil
    }
}
