#if os(Linux)
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
        guard let blank = bytes.firstIndex(of: UInt8(ascii: " ")), bytes.count > blank + 3 else { return nil }
        var status = 0
        for digit in bytes[blank + 1...blank + 3] {
            guard (0x30...0x39).contains(digit) else { return nil }
            status = status * 10 + Int(digit - 0x30)
        }
        return (100...999).contains(status) ? status : nil
    }

    /// Whether the version in the status line is HTTP/1.0 or HTTP/1.1.
    var isOfHTTP1: Bool { bytes.starts(with: "HTTP/1.".utf8) }

    /// The version in the status line.
    var version: String {
        String(decoding: bytes.prefix { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
    }

    /// The head of a response, whose ``framing`` was checked before; nil where it has no status or too many fields.
    var response: HTTPResponse? {
        guard let status, let fields = fields(from: lineEnd(from: 0) + 1) else { return nil }
        return HTTPResponse(status: .init(code: status, reasonPhrase: reasonPhrase), headerFields: fields)
    }

    /// The trailer fields; nil where there are none, or too many.
    var trailers: HTTPFields? {
        bytes.isEmpty ? nil : fields(from: 0)
    }

    private var reasonPhrase: String {
        let line = bytes[..<lineEnd(from: 0)]
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count > 2 ? String(decoding: Self.trimmed(parts[2]), as: UTF8.self) : ""
    }

    func lineEnd(from start: Int) -> Int {
        bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
    }

    private func fields(from start: Int) -> HTTPFields? {
        var fields = HTTPFields()
        var pending: (name: HTTPField.Name, value: ArraySlice<UInt8>)?
        var start = start
        while start < bytes.endIndex {
            let end = lineEnd(from: start)
            let line = bytes[start..<end]
            start = end + 1
            if let first = line.first, first == 0x20 || first == 0x09, pending != nil {
                // A blank stands for the fold of a line (RFC 9112, section 5.2).
                pending?.value += [0x20] + Self.trimmed(line)
                continue
            }
            if let pending { fields.append(HTTPField(name: pending.name, lenientValue: pending.value)) }
            guard fields.count < Self.fieldLimit else { return nil }
            pending = Self.field(line)
        }
        if let pending { fields.append(HTTPField(name: pending.name, lenientValue: pending.value)) }
        return fields
    }

    /// The name and value of a line; nil where the line is not a field, as at the end of a head.
    private static func field(_ line: ArraySlice<UInt8>) -> (name: HTTPField.Name, value: ArraySlice<UInt8>)? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        else { return nil }
        return (name, trimmed(line[(colon + 1)...]))
    }

    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }
}
#endif
