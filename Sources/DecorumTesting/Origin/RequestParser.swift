public import HTTPTypes

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

    init(headLimit: Int) { self.headLimit = headLimit }

    /// Whether bytes have come that belong to no event yet.
    var hasUnreadBytes: Bool { !input.isEmpty || !headBytes.isEmpty }

    mutating func feed(_ bytes: [UInt8]) { input.append(bytes) }

    /// Takes the bytes of a chunked body as they came, since the last time; nil for a body without a coding.
    mutating func takeRawBytes() -> [UInt8]? {
        defer { rawBytes = [] }
        return rawBytes.isEmpty ? nil : rawBytes
    }

    /// Gives the next event, or nil if it needs more bytes.
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

/// The grammar of a request's head (RFC 9112), as pure functions.
enum RequestSyntax {
    enum Framing: Sendable, Equatable {
        case none
        case length(Int64)
        case chunked
    }

    static func head(_ lines: [String], bytes: [UInt8]) throws(RequestSyntaxError) -> RequestParser.Head {
        let parts = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let method = HTTPRequest.Method(parts[0]), !parts[1].isEmpty,
            parts[1].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), isVersion(Array(parts[2].utf8))
        else {
            throw .badRequest("The request line is not a method, a target and a version.")
        }
        guard parts[2].hasPrefix("HTTP/1.") else { throw .versionNotSupported }
        let fields = try fields(lines.dropFirst())
        let hosts = fields.values(of: "Host")
        guard hosts.count == 1 || (hosts.isEmpty && parts[2] == "HTTP/1.0") else {
            throw .badRequest("The request has \(hosts.count) Host fields.")
        }
        return RequestParser.Head(
            method: method, target: parts[1], version: parts[2], fields: fields, bytes: bytes)
    }

    /// Determines the length of the body (RFC 9112, section 6.3).
    static func framing(_ head: RequestParser.Head) throws(RequestSyntaxError) -> Framing {
        let codings = head.fields.values(of: "Transfer-Encoding")
        let lengths = head.fields.values(of: "Content-Length")
        if !codings.isEmpty {
            guard lengths.isEmpty else { throw .badRequest("Content-Length stands beside Transfer-Encoding.") }
            guard head.version != "HTTP/1.0" else { throw .badRequest("HTTP/1.0 has no Transfer-Encoding.") }
            guard codings.count == 1, codings[0].lowercased() == "chunked" else { throw .unknownTransferCoding }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        guard lengths.count == 1, !length.isEmpty, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int64(length)
        else { throw .badRequest("Content-Length is not one number.") }
        return .length(length)
    }

    static func fields(_ lines: some Sequence<String>) throws(RequestSyntaxError) -> RawFields {
        var fields = RawFields()
        for line in lines {
            guard let colon = line.utf8.firstIndex(of: 0x3A), isToken(line[..<colon]) else {
                throw .badRequest("A field line has no name, or whitespace in or around it.")
            }
            let value = line[line.utf8.index(after: colon)...]
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw .badRequest("A field's value has a control character.")
            }
            fields.lines.append(.init(name: String(line[..<colon]), value: String(trimmed(value))))
        }
        return fields
    }

    static func chunkSize(_ line: String) throws(RequestSyntaxError) -> Int64 {
        let digits = trimmed(line[...].prefix { $0 != ";" })
        // No sign: the reader of numbers would take one.
        guard digits.utf8.count <= 15, digits.utf8.first.map({ $0 >= 0x30 }) == true,
            let size = Int64(digits, radix: 16)
        else { throw .badRequest("A chunk's size is not a hexadecimal number.") }
        return size
    }

    private static func isVersion(_ bytes: [UInt8]) -> Bool {
        bytes.count == 8 && bytes.starts(with: "HTTP/".utf8) && bytes[6] == 0x2E
            && (0x30...0x39).contains(bytes[5]) && (0x30...0x39).contains(bytes[7])
    }

    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E: true
                default: false
                }
            }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let front = Substring(text.utf8.drop(while: isBlank))
        guard let last = front.utf8.lastIndex(where: { !isBlank($0) }) else { return "" }
        return Substring(front.utf8[...last])
    }
}

/// A request that breaks the rules of HTTP/1.1, which the origin answers with an error status before it closes.
public struct RequestSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status that the client was given.
    public let status: HTTPResponse.Status
    /// The rule that the request breaks.
    public let description: String

    static func badRequest(_ description: String) -> Self {
        Self(status: .badRequest, description: description)
    }

    static let headTooLarge = Self(
        status: .requestHeaderFieldsTooLarge, description: "The head, a line or the trailers are too long.")
    static let versionNotSupported = Self(
        status: .httpVersionNotSupported, description: "The version is not HTTP/1.0 or HTTP/1.1.")
    static let unknownTransferCoding = Self(
        status: .notImplemented, description: "The transfer coding is not chunked alone.")
}
