import Foundation

/// A charset, by any of the names that Ruby, Python and media types give it.
enum Charset: Sendable, Hashable {
    /// Text is stored as it is: UTF-8, a part of it, or bytes.
    case unicode
    case other(String.Encoding)
    /// Nobody here knows it.
    case unknown

    init(named name: String?) {
        let name = (name ?? "").lowercased().filter { $0.isLetter || $0.isNumber }
        switch name {
        case "", "utf8", "utf8mb4", "unicode11utf8", "usascii", "ascii", "ascii8bit", "binary", "none", "null":
            self = .unicode
        case "iso88591", "latin1", "l1", "iso8859": self = .other(.isoLatin1)
        case "iso88592", "latin2": self = .other(.isoLatin2)
        case "windows1250", "cp1250": self = .other(.windowsCP1250)
        case "windows1251", "cp1251": self = .other(.windowsCP1251)
        case "windows1252", "cp1252": self = .other(.windowsCP1252)
        case "windows1253", "cp1253": self = .other(.windowsCP1253)
        case "windows1254", "cp1254": self = .other(.windowsCP1254)
        case "shiftjis", "sjis", "windows31j", "cp932": self = .other(.shiftJIS)
        case "eucjp": self = .other(.japaneseEUC)
        case "iso2022jp": self = .other(.iso2022JP)
        case "utf16", "utf16le": self = .other(.utf16LittleEndian)
        case "utf16be": self = .other(.utf16BigEndian)
        case "utf32le", "utf32": self = .other(.utf32LittleEndian)
        case "utf32be": self = .other(.utf32BigEndian)
        case "macintosh", "macroman": self = .other(.macOSRoman)
        default: self = .unknown
        }
    }

    /// The charset that a media type names.
    init(ofMediaType type: String) {
        let parameters = type.split(separator: ";").dropFirst().map { $0.drop { $0 == " " } }
        let charset = parameters.first { $0.lowercased().hasPrefix("charset=") }
        self.init(named: charset.map { $0.dropFirst(8).filter { $0 != "\"" && $0 != "'" } })
    }

    /// The bytes that stand for the text; nil where the charset is unknown or lacks a character.
    func bytes(of text: String) -> Data? {
        switch self {
        case .unicode: Data(text.utf8)
        case .other(.isoLatin1), .other(.windowsCP1252): Self.latinBytes(of: text)
        case .other(let encoding): text.data(using: encoding)
        case .unknown: nil
        }
    }

    /// The mark that may stand before content, and that decoding drops; nil where there is none.
    var byteOrderMark: Data? {
        switch self {
        case .unicode: Data([0xEF, 0xBB, 0xBF])
        case .other(.utf16LittleEndian): Data([0xFF, 0xFE])
        case .other(.utf16BigEndian): Data([0xFE, 0xFF])
        case .other, .unknown: nil
        }
    }

    /// Encodes Latin 1, by which browsers mean windows-1252 and others do not; no character has a byte in both.
    private static func latinBytes(of text: String) -> Data? {
        var output = Data()
        for scalar in text.unicodeScalars {
            if let byte = UInt8(exactly: scalar.value) {
                output.append(byte)
            } else if let bytes = String(scalar).data(using: .windowsCP1252) {
                output += bytes
            } else {
                return nil
            }
        }
        return output
    }
}
