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
#endif
