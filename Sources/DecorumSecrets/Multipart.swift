package import Foundation

/// The delimiters and the parts of a multipart body (RFC 2046, section 5.1.1).
///
/// A delimiter is a separate line, so each byte is read once, with any boundary.
package struct MultipartLayout: Sendable {
    /// The delimiters, without the line ends around them and the hyphens after the last one.
    package private(set) var delimiters: [Range<Int>] = []

    /// Finds the delimiters of a body; nil if the media type names no boundary or one that is too long.
    package init?(_ bytes: [UInt8], mediaType: String) {
        guard mediaType.lowercased().hasPrefix("multipart/"),
            let boundary = Self.parameter("boundary", of: Array(mediaType.utf8)[...]),
            (1...70).contains(boundary.count)
        else { return nil }
        let delimiter = Array("--".utf8) + boundary
        var start = 0
        while start < bytes.count {
            let end = start + delimiter.count
            if bytes[start...].starts(with: delimiter), end == bytes.count || "-\r\n \t".utf8.contains(bytes[end]) {
                delimiters.append(start..<end)
            }
            start = bytes[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
        }
    }

    /// The fields and the content of each part between the delimiters.
    package func parts(of bytes: [UInt8]) -> [(fields: Range<Int>, content: Range<Int>)] {
        zip(delimiters, delimiters.dropFirst()).compactMap { delimiter, next in
            guard let line = bytes[delimiter.upperBound..<next.lowerBound].firstIndex(of: 0x0A) else { return nil }
            // The line end before a delimiter belongs to the delimiter.
            var (start, end) = (line + 1, next.lowerBound - 1)
            if end > start, bytes[end - 1] == 0x0D { end -= 1 }
            while start < end {
                let newline = bytes[start..<end].firstIndex(of: 0x0A) ?? end
                let isBlank = newline == start || newline == start + 1 && bytes[start] == 0x0D
                if isBlank { return (line + 1..<start, min(newline + 1, end)..<end) }
                start = newline + 1
            }
            return nil
        }
    }

    /// The value of a parameter of a field, without the quotes around it; nil when absent.
    static func parameter(_ name: String, of field: ArraySlice<UInt8>) -> [UInt8]? {
        for parameter in field.split(separator: UInt8(ascii: ";")).dropFirst() {
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = parameter[..<equals].filter { $0 > 0x20 }.map(\.inLowerCase)
            guard key.elementsEqual(name.utf8) else { continue }
            var value = parameter[(equals + 1)...].drop { $0 <= 0x20 }
            while let last = value.last, last <= 0x20 { value.removeLast() }
            let isQuoted = value.count > 1 && value.first == UInt8(ascii: "\"") && value.last == UInt8(ascii: "\"")
            return Array(isQuoted ? value.dropFirst().dropLast() : value)
        }
        return nil
    }
}

/// A part of a multipart body.
package struct MultipartPart: Sendable {
    /// The name of the part in the form; empty when absent.
    package let name: [UInt8]
    /// The media type of the part, where a nested multipart body counts as plain text; nil when absent.
    package let mediaType: String?
    package let content: Data

    /// Replaces the contents of parts in a multipart body; a part for which `replace` returns nil stays as it is.
    package static func replacing(
        in content: Data, mediaType: String, _ replace: (_ part: MultipartPart) -> Data?
    ) -> Data {
        let bytes = Array(content)
        guard let layout = MultipartLayout(bytes, mediaType: mediaType) else { return content }
        var edits = TextEdits(bytes)
        for part in layout.parts(of: bytes) {
            let replaced = replace(MultipartPart(fields: bytes[part.fields], content: bytes[part.content]))
            if let replaced { edits.replace(part.content, with: Array(replaced)) }
        }
        return edits.result.map { Data($0) } ?? content
    }

    private init(fields: ArraySlice<UInt8>, content: ArraySlice<UInt8>) {
        self.content = Data(content)
        var (name, mediaType) = ([] as [UInt8], nil as String?)
        for line in fields.split(separator: 0x0A) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[(colon + 1)...].drop { $0 <= 0x20 }
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "content-disposition": name = MultipartLayout.parameter("name", of: value) ?? []
            case "content-type": mediaType = String(decoding: value, as: UTF8.self)
            default: break
            }
        }
        self.name = name
        // Searching nested multipart bodies would take a time that grows with the square of their number.
        self.mediaType = mediaType?.lowercased().hasPrefix("multipart/") == true ? "text/plain" : mediaType
    }
}
