import Foundation

extension Redaction {
    /// Replaces the contents of parts in a multipart body; all other bytes stay as they are.
    ///
    /// - Parameters:
    ///   - content: The body.
    ///   - mediaType: The value of its `Content-Type`.
    ///   - replace: What stands in place of the content of a part; nil where it stays.
    /// - Returns: The body.
    static func replacingParts(
        of content: Data, mediaType: String, _ replace: (_ part: MultipartPart) -> Data?
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
}

/// A part of a multipart body.
struct MultipartPart: Sendable {
    /// The name that the form gives it; empty where it has none.
    let name: [UInt8]
    /// Its media type; nil where it has none, or is a multipart body again.
    let mediaType: String?
    let content: Data

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
        // A body within a body within a body would take a time that grows with their number squared.
        self.mediaType = mediaType?.lowercased().hasPrefix("multipart/") == true ? "text/plain" : mediaType
    }
}
