public import HTTPTypes

/// The grammar of a request's head (RFC 9112), as pure functions.
enum RequestSyntax {
    enum Framing: Sendable, Equatable {
        case none
        case length(Int64)
        case chunked
    }

    static func head(_ lines: [String], bytes: [UInt8]) throws(RequestSyntaxError) -> RequestParser.Head {
        let parts = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let method = HTTPRequest.Method(parts[0]), isTarget(parts[1]),
            isVersion(parts[2])
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
        guard !digits.isEmpty, digits.utf8.count <= 15, digits.utf8.allSatisfy(isHexDigit),
            let size = Int64(digits, radix: 16)
        else { throw .badRequest("A chunk's size is not a hexadecimal number.") }
        return size
    }

    private static func isVersion(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 8 && text.hasPrefix("HTTP/") && bytes[6] == 0x2E
            && (0x30...0x39).contains(bytes[5]) && (0x30...0x39).contains(bytes[7])
    }

    private static func isTarget(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
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
