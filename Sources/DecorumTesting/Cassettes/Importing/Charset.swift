package import Foundation

/// A charset, by any of the names that Ruby, Python and media types give it.
package enum Charset: Sendable, Hashable {
    /// Text is stored as it is: UTF-8, a part of it, or bytes.
    case unicode
    case other(String.Encoding)
    /// EUC-JP, which Foundation does not have everywhere.
    case japaneseUnix
    /// A charset that is unknown here.
    case unknown

    package init(named name: String?) {
        let name = (name ?? "").lowercased().filter { $0.isLetter || $0.isNumber }
        switch name {
        case "", "utf8", "utf8mb4", "unicode11utf8", "usascii", "ascii", "ascii8bit", "binary", "none", "null":
            self = .unicode
        case "eucjp", "eucjpms", "cp51932": self = .japaneseUnix
        default:
            let rare = Self.rare[name].map { String.Encoding(rawValue: 0x8000_0000 | $0) }
            self = (Self.known[name] ?? rare).map(Self.other) ?? .unknown
        }
    }

    private static let known: [String: String.Encoding] = [
        "iso88591": .isoLatin1, "latin1": .isoLatin1, "l1": .isoLatin1, "iso8859": .isoLatin1,
        "iso88592": .isoLatin2, "latin2": .isoLatin2, "windows1250": .windowsCP1250, "cp1250": .windowsCP1250,
        "windows1251": .windowsCP1251, "cp1251": .windowsCP1251, "windows1252": .windowsCP1252,
        "cp1252": .windowsCP1252, "windows1253": .windowsCP1253, "cp1253": .windowsCP1253,
        "windows1254": .windowsCP1254, "cp1254": .windowsCP1254, "shiftjis": .shiftJIS, "sjis": .shiftJIS,
        "windows31j": .shiftJIS, "cp932": .shiftJIS, "iso2022jp": .iso2022JP, "utf16": .utf16LittleEndian,
        "utf16le": .utf16LittleEndian, "utf16be": .utf16BigEndian, "utf32": .utf32LittleEndian,
        "utf32le": .utf32LittleEndian, "utf32be": .utf32BigEndian, "macintosh": .macOSRoman, "macroman": .macOSRoman,
    ]

    /// The charsets that Foundation has no name for, by the numbers under which Core Foundation knows them.
    private static let rare: [String: UInt] = [
        "iso88595": 0x205, "iso88597": 0x207, "iso88598": 0x208, "iso885911": 0x20B, "tis620": 0x20B,
        "iso885915": 0x20F, "latin9": 0x20F, "iso885916": 0x210, "latin10": 0x210,
        "windows874": 0x41D, "cp874": 0x41D, "ibm866": 0x41B, "cp866": 0x41B, "windows1255": 0x505, "cp1255": 0x505,
        "windows1256": 0x506, "cp1256": 0x506, "windows1257": 0x507, "cp1257": 0x507, "windows1258": 0x508,
        "cp1258": 0x508, "koi8r": 0xA02, "koi8u": 0xA08,
        "gb2312": 0x632, "euccn": 0x632, "gbk": 0x632, "cp936": 0x632, "gb18030": 0x632,
        "big5": 0xA03, "cp950": 0xA03, "big5hkscs": 0xA06, "euckr": 0x940, "ksc56011987": 0x940, "cp949": 0x422,
        "windows949": 0x422,
    ]

    init(ofMediaType type: String) {
        let parameters = type.split(separator: ";").dropFirst().map { $0.drop { $0 == " " } }
        let charset = parameters.first { $0.lowercased().hasPrefix("charset=") }
        self.init(named: charset.map { $0.dropFirst(8).filter { $0 != "\"" && $0 != "'" } })
    }

    /// The bytes of the text; nil if the charset is unknown or lacks a character.
    package func bytes(of text: String) -> Data? {
        switch self {
        case .unicode: Data(text.utf8)
        case .other(.isoLatin1), .other(.windowsCP1252): Self.latinBytes(of: text)
        case .other(let encoding): text.data(using: encoding)
        case .japaneseUnix: Self.unixBytes(of: text)
        case .unknown: nil
        }
    }

    /// The byte order mark that may precede content, and that decoding drops; nil if absent.
    var byteOrderMark: Data? {
        switch self {
        case .unicode: Data([0xEF, 0xBB, 0xBF])
        case .other(.utf16LittleEndian): Data([0xFF, 0xFE])
        case .other(.utf16BigEndian): Data([0xFE, 0xFF])
        case .other, .japaneseUnix, .unknown: nil
        }
    }

    /// Encodes Latin 1, which browsers read as windows-1252 and other programs do not.
    ///
    /// No character has different bytes in the two.
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

    /// The bytes in EUC-JP: the characters of Shift_JIS, with the bytes of each row in another order.
    private static func unixBytes(of text: String) -> Data? {
        guard var shifted = text.data(using: .shiftJIS)?.makeIterator() else { return nil }
        var output = Data()
        while let lead = shifted.next() {
            switch lead {
            case ..<0x80: output.append(lead)
            case 0xA1...0xDF: output += [0x8E, lead]
            case 0x81...0x9F, 0xE0...0xEF:
                guard let trail = shifted.next() else { return nil }
                let row = (Int(lead) - (lead < 0xA0 ? 0x81 : 0xC1)) * 2 + (trail < 0x9F ? 0xA1 : 0xA2)
                let cell = Int(trail) + (trail < 0x7F ? 0x61 : trail < 0x9F ? 0x60 : 0x02)
                output += [UInt8(row), UInt8(cell)]
            default: return nil
            }
        }
        return output
    }
}
