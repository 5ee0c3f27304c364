public import Foundation

/// The positions of the delimiters and the parts of a multipart body (RFC 2046, section 5.1.1).
///
/// A delimiter is a separate line, so each byte is read once, with any boundary.
public struct MultipartLayout: Sendable {
    /// A part of the body.
    struct Part: Sendable {
        let fields: Range<Int>
        let content: Range<Int>
    }

    private static let boundaryLimit = 70

    /// The delimiters, without the line ends around them and the hyphens after the last one.
    public private(set) var delimiters: [Range<Int>] = []

    /// Finds the delimiters of a body; nil when the media type names no boundary or one that is too long.
    ///
    /// - Parameters:
    ///   - bytes: The body.
    ///   - mediaType: The value of `Content-Type`.
    public init?(_ bytes: [UInt8], mediaType: String) {
        guard mediaType.lowercased().hasPrefix("multipart/"), let boundary = Self.boundary(in: mediaType) else {
            return nil
        }
        let delimiter = Array("--".utf8) + boundary
        var start = 0
        while start < bytes.count {
            let end = start + delimiter.count
            if bytes[start] == UInt8(ascii: "-"), bytes[start...].starts(with: delimiter),
                end == bytes.count || Self.endsDelimiter(bytes[end])
            {
                delimiters.append(start..<end)
            }
            start = bytes[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
        }
    }

    /// The parts between the delimiters.
    func parts(of bytes: [UInt8]) -> [Part] {
        zip(delimiters, delimiters.dropFirst()).compactMap { delimiter, next in
            guard let line = bytes[delimiter.upperBound..<next.lowerBound].firstIndex(of: 0x0A) else { return nil }
            // The line end before a delimiter belongs to the delimiter.
            var end = next.lowerBound - 1
            if end > line + 1, bytes[end - 1] == 0x0D { end -= 1 }
            var start = line + 1
            while start < end {
                let newline = bytes[start..<end].firstIndex(of: 0x0A) ?? end
                let isBlank = newline == start || newline == start + 1 && bytes[start] == 0x0D
                if isBlank { return Part(fields: line + 1..<start, content: min(newline + 1, end)..<end) }
                start = newline + 1
            }
            return nil
        }
    }

    private static func endsDelimiter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte == 0x0D || byte == 0x0A || byte == 0x20 || byte == 0x09
    }

    private static func boundary(in mediaType: String) -> [UInt8]? {
        guard let value = parameter("boundary", of: Array(mediaType.utf8)[...]) else { return nil }
        return value.isEmpty || value.count > boundaryLimit ? nil : value
    }

    /// The value of a parameter of a field, without the quotes around it; nil when absent.
    static func parameter(_ name: String, of field: ArraySlice<UInt8>) -> [UInt8]? {
        for parameter in field.split(separator: UInt8(ascii: ";")).dropFirst() {
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = parameter[..<equals].filter { $0 > 0x20 }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            guard key.elementsEqual(name.utf8) else { continue }
            var value = parameter[(equals + 1)...].drop { $0 <= 0x20 }
            while let last = value.last, last <= 0x20 { value.removeLast() }
            guard value.count > 1, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") else {
                return Array(value)
            }
            return Array(value.dropFirst().dropLast())
        }
        return nil
    }
}

/// A part of a multipart body.
public struct MultipartPart: Sendable {
    /// The name of the part in the form; empty when absent.
    public let name: [UInt8]
    /// The media type of the part, where a nested multipart body counts as plain text; nil when absent.
    public let mediaType: String?
    /// The content of the part.
    public let content: Data

    /// Replaces the contents of parts in a multipart body; all other bytes stay as they are.
    ///
    /// - Parameters:
    ///   - content: The body.
    ///   - mediaType: The value of its `Content-Type`.
    ///   - replace: Returns the replacement for the content of a part; nil to keep the content.
    /// - Returns: The body.
    public static func replacing(
        in content: Data, mediaType: String, _ replace: (_ part: MultipartPart) -> Data?
    ) -> Data {
        let bytes = Array(content)
        guard let layout = MultipartLayout(bytes, mediaType: mediaType) else { return content }
        var output: [UInt8] = []
        var copied = 0
        for part in layout.parts(of: bytes) {
            guard let replaced = replace(MultipartPart(bytes, part)) else { continue }
            output += bytes[copied..<part.content.lowerBound]
            output += replaced
            copied = part.content.upperBound
        }
        return copied == 0 ? content : Data(output + bytes[copied...])
    }

    init(_ bytes: [UInt8], _ part: MultipartLayout.Part) {
        content = Data(bytes[part.content])
        var name: [UInt8]?
        var mediaType: String?
        for line in bytes[part.fields].split(separator: 0x0A) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[(colon + 1)...].drop { $0 <= 0x20 }
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "content-disposition": name = MultipartLayout.parameter("name", of: value)
            case "content-type": mediaType = String(decoding: value, as: UTF8.self)
            default: break
            }
        }
        self.name = name ?? []
        // Searching nested multipart bodies would take a time that grows with the square of their number.
        self.mediaType = mediaType?.lowercased().hasPrefix("multipart/") == true ? "text/plain" : mediaType
    }
}
