#if os(Linux)
import Foundation
import HTTPTypes

/// The parts of a response that have arrived: its heads, the end of its content, and its trailers.
struct CurlResponseState {
    /// The longest head, with the informational ones before it and the trailers after it.
    private static let lineLimit = 256 << 10

    enum Line {
        case partial
        /// The line has completed the head of the final response.
        case complete(CurlResponseHead)
        case refused(TransportError.Code, detail: String? = nil)
    }

    enum Content {
        case part
        /// All of the content has arrived.
        case last
        /// The chunked coding is malformed, or there is no head yet.
        case malformed
        /// Much content waits for its reader already.
        case tooEarly
        /// The exchange has ended.
        case unwanted
    }

    /// Whether chunked content arrives with its coding, as libcurl was told.
    var decodesChunks = false
    /// The status; nil before the head is complete.
    private(set) var status: Int?
    private(set) var informational: [CurlResponseHead] = []
    /// Whether only the end of the connection ends the content.
    private(set) var endsWithConnection = false
    private let answersHead: Bool
    private var head = CurlResponseHead()
    private var separateTrailers = CurlResponseHead()
    private var lineBytes = 0
    /// How much content is still to arrive; nil unless the head tells.
    private var missingBytes: Int64?
    private var chunks: CurlChunkedDecoder?

    /// `answersHead` tells whether the request is a HEAD request, whose response has no content.
    init(answersHead: Bool) {
        self.answersHead = answersHead
    }

    /// Whether nothing has arrived.
    var isEmpty: Bool { lineBytes == 0 }
    var hasHead: Bool { status != nil }
    /// Whether all of the content has arrived; false also if only libcurl can tell.
    var isComplete: Bool { missingBytes == 0 || chunks?.isComplete == true }
    /// Whether content in the chunked coding has not ended yet.
    var awaitsLastChunk: Bool { chunks?.isComplete == false }
    var trailers: CurlResponseHead { chunks?.trailers ?? separateTrailers }

    /// Adds a line of a head or of the trailers.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Line {
        lineBytes += line.count
        guard lineBytes <= Self.lineLimit else { return .refused(.limitExceeded) }
        let isBlank = unsafe line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        if hasHead {
            if !isBlank { unsafe separateTrailers.append(line) }
            return .partial
        }
        guard isBlank else {
            // libcurl takes each line that starts with CR for the end of the head, whatever follows.
            guard let first = unsafe line.first, first != UInt8(ascii: "\r") else {
                return .refused(.malformedResponse)
            }
            unsafe head.append(line)
            return .partial
        }
        return completeHead()
    }

    private mutating func completeHead() -> Line {
        guard let status = head.status else { return .refused(.malformedResponse) }
        guard let framing = head.framing else {
            return .refused(.malformedResponse, detail: "the fields that tell its length are invalid or contradictory")
        }
        defer { head = CurlResponseHead() }
        // After a 101 the connection uses another protocol: the response is final.
        guard status >= 200 || status == 101 else {
            informational.append(head)
            return .partial
        }
        self.status = status
        if answersHead || status == 204 || status == 304 {
            missingBytes = 0
        } else {
            missingBytes = framing.length
            if decodesChunks, framing.isChunked, head.isOfHTTP1 { chunks = CurlChunkedDecoder() }
            endsWithConnection = head.isOfHTTP1 && !framing.isPresent
        }
        return .complete(head)
    }

    /// Moves content to a buffer, without its chunked coding.
    mutating func decode(_ content: UnsafeRawBufferPointer, into buffer: inout CurlContentBuffer) -> Content {
        guard hasHead else { return .malformed }
        if chunks != nil {
            let isValid = unsafe chunks?.decode(content) { unsafe buffer.append($0) } ?? false
            guard isValid else { return .malformed }
        } else {
            missingBytes? -= Int64(content.count)
            unsafe buffer.append(content)
        }
        return isComplete ? .last : .part
    }
}

/// The lines of a response's head, or of its trailers, as libcurl gives them, each with its end.
struct CurlResponseHead: Sendable {
    // `HTTPFields` traps when there are too many.
    private static let fieldLimit = 10_000

    // Most heads fit, so that they are not moved while they grow.
    private static let usualSize = 512

    private(set) var bytes: [UInt8] = []

    mutating func append(_ line: UnsafeRawBufferPointer) {
        if bytes.isEmpty { bytes.reserveCapacity(Self.usualSize) }
        unsafe bytes.append(contentsOf: line)
    }

    /// The status code; nil unless the head starts with a status line.
    var status: Int? {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let blank = unsafe bytes.place(of: UInt8(ascii: " "), from: 0), bytes.count > blank + 3 else {
                return nil
            }
            var status = 0
            for place in blank + 1...blank + 3 {
                let digit = unsafe bytes[place]
                guard (0x30...0x39).contains(digit) else { return nil }
                status = status * 10 + Int(digit - 0x30)
            }
            return (100...999).contains(status) ? status : nil
        }
    }

    /// Whether the version in the status line is HTTP/1.0 or HTTP/1.1.
    var isOfHTTP1: Bool { bytes.starts(with: "HTTP/1.".utf8) }

    /// The version in the status line.
    var version: String {
        String(decoding: bytes.prefix { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
    }

    /// The head of a response, whose ``framing`` was checked before; nil without a status, or with too many fields.
    var response: HTTPResponse? {
        guard let status else { return nil }
        return unsafe bytes.withUnsafeBytes { bytes in
            let end = unsafe bytes.place(of: UInt8(ascii: "\n"), from: 0) ?? bytes.count
            guard let fields = unsafe Self.fields(in: bytes, from: end + 1) else { return nil }
            let reasonPhrase = unsafe Self.reasonPhrase(in: bytes[..<end])
            return HTTPResponse(status: .init(code: status, reasonPhrase: reasonPhrase), headerFields: fields)
        }
    }

    /// The trailer fields; nil without any, or with too many.
    var trailers: HTTPFields? {
        guard !bytes.isEmpty else { return nil }
        return unsafe bytes.withUnsafeBytes { unsafe Self.fields(in: $0, from: 0) }
    }

    private static func reasonPhrase(in line: Slice<UnsafeRawBufferPointer>) -> String {
        guard let first = unsafe line.firstIndex(of: UInt8(ascii: " ")),
            let second = unsafe line[(first + 1)...].firstIndex(of: UInt8(ascii: " "))
        else { return "" }
        return unsafe String(decoding: trimmed(line[(second + 1)...]), as: UTF8.self)
    }

    private static func fields(in bytes: UnsafeRawBufferPointer, from start: Int) -> HTTPFields? {
        var fields = HTTPFields()
        // Most heads have no more.
        fields.reserveCapacity(16)
        var pending: (name: HTTPField.Name, value: Slice<UnsafeRawBufferPointer>)?
        // The value of a field that is folded, whose parts are not adjacent.
        var folded: [UInt8]?
        func addPending() {
            guard let pending = unsafe pending else { return }
            if let folded {
                unsafe fields.append(HTTPField(name: pending.name, lenientValue: folded))
            } else if unsafe pending.value.allSatisfy({ $0 &- 0x20 < 0x5F }) {
                // Bytes that may be no text take several times as long.
                let value = unsafe String(decoding: UnsafeRawBufferPointer(rebasing: pending.value), as: UTF8.self)
                fields.append(HTTPField(name: unsafe pending.name, value: value))
            } else {
                unsafe fields.append(HTTPField(name: pending.name, lenientValue: pending.value))
            }
            folded = nil
        }
        var start = start
        while start < bytes.count {
            let end = unsafe bytes.place(of: UInt8(ascii: "\n"), from: start) ?? bytes.count
            let line = unsafe bytes[start..<end]
            start = end + 1
            if let first = unsafe line.first, first == 0x20 || first == 0x09, let value = unsafe pending?.value {
                // A blank stands for the fold of a line (RFC 9112, section 5.2).
                if folded == nil { folded = unsafe Array(value) }
                folded?.append(0x20)
                unsafe folded?.append(contentsOf: trimmed(line))
                continue
            }
            addPending()
            guard fields.count < fieldLimit else { return nil }
            unsafe pending = field(line)
        }
        addPending()
        return fields
    }

    /// The name and value of a line; nil for any other line, as at the end of a head.
    private static func field(
        _ line: Slice<UnsafeRawBufferPointer>
    ) -> (name: HTTPField.Name, value: Slice<UnsafeRawBufferPointer>)? {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: line)
        guard let colon = unsafe bytes.place(of: UInt8(ascii: ":"), from: 0),
            let name = unsafe CurlFieldNames.usual.name(UnsafeRawBufferPointer(rebasing: bytes[..<colon]))
        else { return nil }
        return unsafe (name, trimmed(bytes[(colon + 1)...]))
    }

    static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        var (start, end) = unsafe (bytes.startIndex, bytes.endIndex)
        while start < end, isBlank(unsafe bytes[start]) { start += 1 }
        while start < end, isBlank(unsafe bytes[end - 1]) { end -= 1 }
        return unsafe bytes[start..<end]
    }
}

extension UnsafeRawBufferPointer {
    /// The first place of a byte from a place on; nil without one.
    func place(of byte: UInt8, from start: Int) -> Int? {
        guard start < count, let first = baseAddress,
            let found = unsafe memchr(first + start, Int32(byte), count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(found) - first
    }
}

extension CurlResponseHead {
    /// The end of the content, as the fields of a head tell it.
    struct Framing: Equatable {
        /// The value of Content-Length; nil if absent.
        fileprivate(set) var length: Int64?
        fileprivate(set) var isChunked = false

        /// Whether any field tells the end.
        var isPresent: Bool { length != nil || isChunked }
    }

    /// The end of the content (RFC 9112, section 6.3); nil if the head contradicts itself.
    ///
    /// In that case, libcurl and the server, or a proxy between them, may disagree on where the next response starts, and
    /// each later request on the connection could get the response to another one.
    var framing: Framing? {
        guard let framing = unsafe bytes.withUnsafeBytes({ unsafe Self.framing(of: $0) }) else { return nil }
        // A length beside a coding is a sign of an attempt to split a response.
        let isClear = framing.length == nil || !framing.isChunked
        // An informational head has no content, whatever its fields say; only a length of 0 means the same to a recipient
        // that believes them.
        let isEmpty = framing.length ?? 0 == 0 && !framing.isChunked
        return isClear && (isEmpty || !isInformational) ? framing : nil
    }

    private static func framing(of bytes: UnsafeRawBufferPointer) -> Framing? {
        var framing = Framing()
        var isFoldable = false
        var start = unsafe (bytes.place(of: UInt8(ascii: "\n"), from: 0) ?? bytes.count) + 1
        while start < bytes.count {
            let end = unsafe bytes.place(of: UInt8(ascii: "\n"), from: start) ?? bytes.count
            let line = unsafe bytes[start..<end]
            start = end + 1
            guard let first = unsafe line.first, first != UInt8(ascii: "\r") else { break }
            if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
                // Before the first field there is no line to continue, and recipients differ on a folded length.
                guard isFoldable else { return nil }
                continue
            }
            guard let field = unsafe FramingField(line) else {
                isFoldable = true
                continue
            }
            isFoldable = false
            guard unsafe framing.add(field, value: line) else { return nil }
        }
        return framing
    }

    /// Whether another head follows, so that there is no content (RFC 9110, section 8.6).
    private var isInformational: Bool {
        guard let status else { return false }
        return status < 200 && status != 101
    }
}

/// A field that tells where content ends.
private enum FramingField {
    case length, coding

    /// Reads the name of a line; blanks may follow it.
    init?(_ line: Slice<UnsafeRawBufferPointer>) {
        // The first byte is enough to skip most other fields.
        switch unsafe line.first {
        case UInt8(ascii: "C"), UInt8(ascii: "c"): self = .length
        case UInt8(ascii: "T"), UInt8(ascii: "t"): self = .coding
        default: return nil
        }
        let expected: StaticString = self == .length ? "content-length" : "transfer-encoding"
        guard unsafe line.starts(withLowerCase: expected) else { return nil }
        // A name that only begins like this one is another.
        let rest = unsafe line[(line.startIndex + expected.utf8CodeUnitCount)...]
        guard let end = unsafe rest.first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }),
            end == UInt8(ascii: ":")
        else { return nil }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Whether the bytes begin with a text in lower case, letters in any case.
    fileprivate func starts(withLowerCase text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard unsafe count >= length else { return false }
        let start = unsafe startIndex
        for place in 0..<length {
            guard unsafe self[start + place] | 0x20 == text.utf8Start[place] | 0x20 else { return false }
        }
        return true
    }
}

extension CurlResponseHead.Framing {
    /// Adds a field; returns false if its value is invalid or contradicts an earlier one.
    fileprivate mutating func add(_ field: FramingField, value line: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")),
            unsafe line[..<colon].last.map({ $0 > 0x20 }) == true
        else {
            // Some recipients ignore blanks behind a name, and others ignore the field.
            return false
        }
        let value = unsafe CurlResponseHead.trimmed(line[(colon + 1)...])
        switch field {
        case .coding:
            // The request has asked for no other coding (RFC 9112, section 7.4).
            guard !isChunked, unsafe value.count == 7 && value.starts(withLowerCase: "chunked") else { return false }
            isChunked = true
        case .length:
            var start = unsafe value.startIndex
            while true {
                let end = unsafe value[start...].firstIndex(of: UInt8(ascii: ",")) ?? value.endIndex
                guard let number = unsafe Self.number(CurlResponseHead.trimmed(value[start..<end])),
                    length == nil || length == number
                else { return false }
                length = number
                guard unsafe end < value.endIndex else { break }
                start = end + 1
            }
        }
        return true
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int64? {
        guard unsafe !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for place in unsafe digits.startIndex..<digits.endIndex {
            let digit = unsafe digits[place]
            guard (0x30...0x39).contains(digit) else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = product.addingReportingOverflow(Int64(digit - 0x30))
            guard !isTooLarge, !isSumTooLarge else { return nil }
            number = sum
        }
        return number
    }
}

/// The names of fields that most responses have, so that they need not be checked and lower-cased for each.
///
/// The first letter, the last letter and the length of a name choose its place.
struct CurlFieldNames: Sendable {
    /// The usual names, as servers spell them over HTTP/1.1, and in lower case as over HTTP/2.
    static let usual = CurlFieldNames([
        "Accept-Ranges", "Age", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
        "Date", "ETag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Location", "Server", "Set-Cookie",
        "Strict-Transport-Security", "Transfer-Encoding", "Vary",
    ])

    private struct Entry: Sendable {
        let spelling: [UInt8]
        let name: HTTPField.Name
    }

    private static let size = 256
    private var places = [[Entry]](repeating: [], count: Self.size)

    init(_ names: [String]) {
        for text in Set(names + names.map { $0.lowercased() }) {
            guard let name = HTTPField.Name(text) else { continue }
            let spelling = Array(text.utf8)
            let place = unsafe spelling.withUnsafeBytes { unsafe Self.place(of: $0) }
            places[place].append(Entry(spelling: spelling, name: name))
        }
    }

    /// The name with exactly this spelling; nil unless it is valid.
    func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        for entry in unsafe places[Self.place(of: bytes)] {
            let isEqual = unsafe entry.spelling.withUnsafeBytes { spelling in
                guard spelling.count == bytes.count, let own = spelling.baseAddress,
                    let other = bytes.baseAddress
                else { return false }
                return unsafe memcmp(own, other, bytes.count) == 0
            }
            if isEqual { return entry.name }
        }
        return unsafe HTTPField.Name(String(decoding: bytes, as: UTF8.self))
    }

    private static func place(of bytes: UnsafeRawBufferPointer) -> Int {
        guard let first = unsafe bytes.first, let last = unsafe bytes.last else { return 0 }
        return (61 &* Int(first) &+ 5 &* Int(last) &+ 131 &* bytes.count) & (size - 1)
    }
}

/// Removes the chunked coding from content (RFC 9112, section 7.1).
///
/// libcurl reads the coding too, and detects content that ends before its last chunk.
struct CurlChunkedDecoder {
    private static let extensionLimit = 16 << 10
    private static let trailerLimit = 64 << 10
    private static let digitLimit = 16

    private enum Part {
        case size, sizeExtension
        /// The LF behind the CR of a size, which has no extension.
        case sizeEnd
        case content
        /// The CR or LF behind the content of a chunk.
        case contentEnd
        case contentLineFeed, trailers, complete
    }

    private var part = Part.size
    /// The size of the chunk, or the part of it that has not arrived yet.
    private var size = 0
    private var digits = 0
    /// The length of the extension or of the trailers.
    private var length = 0
    private var line: [UInt8] = []
    /// The trailer fields that have arrived.
    private(set) var trailers = CurlResponseHead()

    /// Whether the last chunk and the trailers have arrived.
    var isComplete: Bool { part == .complete }

    /// Gives each part of the content to a closure; returns false if the coding is malformed.
    ///
    /// Bytes behind the end are ignored, because libcurl does not reuse their connection.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, to body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var index = 0
        while index < bytes.count, part != .complete {
            if part == .content {
                let count = min(size, bytes.count - index)
                unsafe body(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
                index += count
                size -= count
                if size == 0 { part = .contentEnd }
                continue
            }
            guard unsafe take(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    /// Takes a byte that is not content; returns false if it cannot stand there.
    private mutating func take(_ byte: UInt8) -> Bool {
        switch part {
        case .size: return takeSize(byte)
        case .sizeExtension:
            length += 1
            if byte == UInt8(ascii: "\n") { beginChunk() }
            return length <= Self.extensionLimit
        case .sizeEnd:
            beginChunk()
            return byte == UInt8(ascii: "\n")
        case .contentEnd where byte == UInt8(ascii: "\r"): part = .contentLineFeed
        case .contentEnd, .contentLineFeed:
            (part, digits) = (.size, 0)
            return byte == UInt8(ascii: "\n")
        case .trailers: return takeTrailer(byte)
        case .content, .complete: break
        }
        return true
    }

    private mutating func takeSize(_ byte: UInt8) -> Bool {
        if let digit = Self.digit(byte) {
            guard digits < Self.digitLimit, size <= Int.max >> 4 else { return false }
            digits += 1
            size = size << 4 | digit
            return true
        }
        guard digits > 0 else { return false }
        switch byte {
        case UInt8(ascii: "\r"): part = .sizeEnd
        case UInt8(ascii: "\n"): beginChunk()
        case UInt8(ascii: ";"), UInt8(ascii: " "), UInt8(ascii: "\t"): (part, length) = (.sizeExtension, 0)
        default: return false
        }
        return true
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30
        case 0x41...0x46, 0x61...0x66: Int(byte | 0x20) - 0x57
        default: nil
        }
    }

    private mutating func beginChunk() {
        (part, length) = (size == 0 ? .trailers : .content, 0)
    }

    private mutating func takeTrailer(_ byte: UInt8) -> Bool {
        length += 1
        guard length <= Self.trailerLimit else { return false }
        line.append(byte)
        guard byte == UInt8(ascii: "\n") else { return true }
        if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
            part = .complete
        } else {
            unsafe line.withUnsafeBytes { unsafe trailers.append($0) }
        }
        line.removeAll(keepingCapacity: true)
        return true
    }
}
#endif
