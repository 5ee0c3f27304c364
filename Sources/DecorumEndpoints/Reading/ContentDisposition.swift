public import Decorum
import Foundation
import HTTPTypes

/// The field `Content-Disposition` of a response: how its content is meant to be shown, and the name of its file
/// (RFC 6266).
public struct ContentDisposition: Sendable, Hashable {
    /// The type in lower case, such as `attachment` or `inline`.
    public let type: String
    /// The name that the server gives the file; nil where it gives none.
    ///
    /// It is of `filename*` (RFC 8187) where that can be read, or else of `filename`. The server chooses the name, so
    /// it may hold a path, or be the name of a device. ``SafeFileName`` makes a safe name of it.
    public let fileName: String?

    /// Reads the value of the field.
    ///
    /// - Parameter value: The value; parameters from the first malformed one on are left out.
    public init(_ value: String) {
        let parsed = ParameterizedValue(value)
        type = parsed.value
        fileName = parsed["filename*"].flatMap(Self.decode) ?? parsed["filename"]
    }

    /// Decodes an extended value: a charset, a language and percent-encoded bytes, between apostrophes (RFC 8187, section
    /// 3.2); nil where it is malformed.
    private static func decode(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentCoding.decode(Array(parts[2].utf8)[...], plusIsBlank: false)
        return switch parts[0].lowercased() {
        case "utf-8": String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: nil
        }
    }
}

extension Response {
    /// The name for the file of the content that the server suggests, made safe: of `Content-Disposition`, or else the last
    /// segment of the URL that answered, or else `download`.
    ///
    /// It is one segment of a path; see ``SafeFileName``. A field that is not UTF-8 is read as windows-1252.
    public var suggestedFileName: String {
        let field = head.headerFields.first { $0.name == .contentDisposition }
        let named = field.flatMap { ContentDisposition($0.text).fileName }
        let segment = metadata.url.map { url in
            let path = url.path(percentEncoded: true).utf8.split(separator: UInt8(ascii: "/")).last
            let bytes = PercentCoding.decode(Array(path ?? "".utf8[...])[...], plusIsBlank: false)
            return String(decoding: bytes, as: UTF8.self)
        }
        return [named, segment].lazy.compactMap { $0.flatMap { SafeFileName($0) } }.first?.text ?? "download"
    }
}

extension HTTPField {
    /// The value in UTF-8, or else in windows-1252, which older servers send (RFC 9110, section 5.5).
    fileprivate var text: String {
        // The bytes are copied within the closure.
        let bytes = unsafe withUnsafeBytesOfValue { unsafe Data($0) }
        return String(validating: bytes, as: UTF8.self) ?? Charset(label: "latin1")?.decode(bytes) ?? value
    }
}
