import Decorum
import DecorumArchive
import Foundation

/// The content of a form, put together from its parts.
enum FormBody {
    static func bytes(of content: HAR.PostData) -> Data {
        let type = content.mimeType.lowercased()
        return type.hasPrefix("multipart/") ? multipart(content) : urlEncoded(content.params)
    }

    private static func urlEncoded(_ params: [HAR.Parameter]) -> Data {
        let pairs = params.map { encode($0.name) + ($0.value.map { "=" + encode($0) } ?? "") }
        return Data(pairs.joined(separator: "&").utf8)
    }

    /// Encodes as forms are encoded, with a plus sign for a blank.
    private static func encode(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            switch byte {
            case 0x20: output += "+"
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "*"), UInt8(ascii: "~"):
                output.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                output += "%" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return output
    }

    private static func multipart(_ content: HAR.PostData) -> Data {
        let boundary =
            content.mimeType.split(separator: ";")
            .map { $0.drop { $0 == " " } }.first { $0.lowercased().hasPrefix("boundary=") }
            .map { $0.dropFirst(9).filter { $0 != "\"" } } ?? "boundary"
        var output = Data()
        for param in content.params {
            let file = param.fileName.map { "; filename=\"\($0)\"" } ?? ""
            let type = param.contentType.map { "Content-Type: \($0)\r\n" } ?? ""
            let head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(param.name)\"\(file)\r\n\(type)\r\n"
            output += Data(head.utf8)
            let value = param.value ?? ""
            let isBase64 = param.encoding?.lowercased() == "base64"
            output += isBase64 ? StorageEncoding.base64(value) ?? Data(value.utf8) : Data(value.utf8)
            output += Data("\r\n".utf8)
        }
        return output + Data("--\(boundary)--\r\n".utf8)
    }
}
