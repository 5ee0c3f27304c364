#if os(Linux)
import Foundation
import HTTPTypes

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

    /// The status code; nil where the head does not start with a status line.
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

    /// The head of a response, whose ``framing`` was checked before; nil where it has no status or too many fields.
    var response: HTTPResponse? {
        guard let status else { return nil }
        return unsafe bytes.withUnsafeBytes { bytes in
            let end = unsafe bytes.place(of: UInt8(ascii: "\n"), from: 0) ?? bytes.count
            guard let fields = unsafe Self.fields(in: bytes, from: end + 1) else { return nil }
            let reasonPhrase = unsafe Self.reasonPhrase(in: bytes[..<end])
            return HTTPResponse(status: .init(code: status, reasonPhrase: reasonPhrase), headerFields: fields)
        }
    }

    /// The trailer fields; nil where there are none, or too many.
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
        var pending: (name: HTTPField.Name, value: Slice<UnsafeRawBufferPointer>)?
        // The value of a field that is folded, whose parts are not adjacent.
        var folded: [UInt8]?
        func addPending() {
            guard let pending = unsafe pending else { return }
            if let folded {
                unsafe fields.append(HTTPField(name: pending.name, lenientValue: folded))
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

    /// The name and value of a line; nil where the line is not a field, as at the end of a head.
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
    /// The first place of a byte from a place on; nil where there is none.
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

    /// The end of the content (RFC 9112, section 6.3); nil where the head contradicts itself.
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
    case length
    case coding

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

    /// Whether the bytes are a text in lower case, letters in any case.
    fileprivate func equals(lowerCase text: StaticString) -> Bool {
        unsafe count == text.utf8CodeUnitCount && starts(withLowerCase: text)
    }
}

extension CurlResponseHead.Framing {
    /// Adds a field; returns false where its value is invalid or contradicts an earlier one.
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
            guard !isChunked, unsafe value.equals(lowerCase: "chunked") else { return false }
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
        for place in unsafe digits.indices {
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
        "Date",
        "ETag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Location", "Server", "Set-Cookie",
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

    /// The name with exactly this spelling; nil where it is no valid name.
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
#endif
