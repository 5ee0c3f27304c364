import Decorum
import Foundation

/// Text of an archive, and the bytes that it represents.
///
/// HAR keeps text that its tool had decoded. If no charset is declared, or the bytes are not text, tools guess, and
/// many drop the byte order mark. The original number of bytes shows how the tool decoded them.
struct ArchivedText {
    let text: String
    /// The media type, which may declare a charset.
    let type: String
    /// The original number of bytes; nil if the archive does not have it.
    let length: Int?

    /// The bytes; nil if the declared charset is unknown here or lacks a character.
    var bytes: Data? {
        let charset = Charset(ofMediaType: type)
        let declared = charset.bytes(of: text)
        guard let length, !text.isEmpty, declared?.count != length else { return declared }
        if let declared, !isJSON, let mark = charset.byteOrderMark, mark.count + declared.count == length {
            return mark + declared
        }
        guard !isKnownToBeText else { return declared }
        let guess = documentCharset ?? .other(.windowsCP1252)
        return guess.bytes(of: text).flatMap { $0.count == length ? $0 : nil } ?? declared
    }

    /// Whether a tool had no need to guess: a length that differs then counts something else, such as characters.
    private var isKnownToBeText: Bool { isJSON || type.lowercased().contains("charset=") }

    /// Whether it is in UTF-8 without a mark (RFC 8259, section 8.1).
    private var isJSON: Bool { type.mediaTypeEssence.hasSuffix("json") }

    /// The charset that a page declares within the bytes in which browsers look for it.
    private var documentCharset: Charset? {
        guard type.lowercased().contains("html") else { return nil }
        let start = text.unicodeScalars.prefix(1024).split(separator: "<").map { String($0).lowercased() }
        guard let name = start.lazy.filter({ $0.hasPrefix("meta") }).compactMap(Self.charset).first else { return nil }
        return Charset(named: name)
    }

    private static func charset(in element: String) -> String? {
        guard let start = element.range(of: "charset=")?.upperBound else { return nil }
        let value = element[start...].drop { $0 == "\"" || $0 == "'" || $0 == " " }
        return String(value.prefix { !"\"'; />".contains($0) })
    }
}
