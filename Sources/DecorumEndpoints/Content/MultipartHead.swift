import Foundation

/// The bytes in front of the content of one part: the delimiter and the fields of the part.
enum MultipartHead {
    static func bytes(_ part: Multipart.Part, boundary: String) -> Data {
        var bytes = Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"".utf8)
        var name: [UInt8] = []
        append(text: part.name, to: &name)
        append(quoted: name, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        if let fileName = part.fileName {
            bytes += "; filename=\"".utf8
            append(quoted: fileName.utf8, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        if let mediaType = part.mediaType {
            bytes += "\r\nContent-Type: ".utf8
            // A line break would begin another field.
            bytes += mediaType.utf8.filter { $0 >= 0x20 && $0 != 0x7F }
        }
        bytes += "\r\n\r\n".utf8
        return Data(bytes)
    }

    /// Appends a text with CRLF in the place of each CR, LF and CRLF (HTML, section 4.10.21.8).
    static func append(text: String, to bytes: inout [UInt8]) {
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 0x0D: bytes += [0x0D, 0x0A]
            case 0x0A where previous == 0x0D: break
            case 0x0A: bytes += [0x0D, 0x0A]
            default: bytes.append(byte)
            }
            previous = byte
        }
    }

    /// Appends a name with escapes for line breaks and quotes, as browsers send it; a backslash escapes nothing there.
    private static func append(quoted name: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        for byte in name {
            switch byte {
            case 0x0A: bytes += "%0A".utf8
            case 0x0D: bytes += "%0D".utf8
            case UInt8(ascii: "\""): bytes += "%22".utf8
            default: bytes.append(byte)
            }
        }
    }
}
