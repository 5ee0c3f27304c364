import Decorum
package import Foundation
import HTTPTypes

/// The encodings in which formats store bytes as text.
package enum StorageEncoding {
    /// Decodes base64 with or without line breaks; nil if it has any other fault.
    package static func base64(_ text: String) -> Data? {
        var bytes = Data(text.utf8)
        bytes.removeAll { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        return Data(base64Encoded: bytes)
    }

    /// Decodes pairs of hexadecimal digits; nil if it is anything else, or empty.
    package static func hexadecimal(_ text: String) -> Data? {
        let digits = text.utf8.map(PercentCoding.hexDigit)
        guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
        var output = Data(capacity: digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            output.append(high << 4 | low)
        }
        return output
    }

    /// The strings of a document that is a list of strings and nothing else.
    static func chunks(_ text: String, within budget: inout ImportBudget) throws(CassetteImportError) -> [String]? {
        guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "[") else { return nil }
        var scanner = JSONScanner(Array(text.utf8), countLimit: budget.count)
        var chunks: [String] = []
        let isList: Void? = try? scanner.array { chunks.append(try $0.string()) }
        try budget.spend(values: chunks.count)
        guard isList != nil, (try? scanner.expectEnd()) != nil, !chunks.isEmpty else { return nil }
        return chunks
    }

    package static func joined(_ chunks: [String], _ decode: (String) -> Data?) -> Data? {
        var output = Data()
        for chunk in chunks where !chunk.isEmpty {
            guard let bytes = decode(chunk) else { return nil }
            output += bytes
        }
        return output
    }

    package static func isText(_ type: String) -> Bool {
        ["text/", "json", "xml", "urlencoded", "javascript", "graphql", "yaml"].contains {
            type.lowercased().contains($0)
        }
    }
}

/// Content in files of other tools, whose fields may name a coding that it does not have.
enum StoredCoding {
    /// The cost of an attempt to decode anything, in bytes: the memory that a decoder initializes.
    private static let attemptCost = 4 << 10

    /// Whether bytes begin with the magic number of that coding; nil for a coding without one.
    static func isMagic(_ bytes: Data, of coding: String) -> Bool? {
        let start = Array(bytes.prefix(4))
        switch coding.lowercased() {
        case "gzip", "x-gzip": return start.starts(with: [0x1F, 0x8B])
        case "zstd": return start == [0x28, 0xB5, 0x2F, 0xFD]
        case "deflate":
            // A zlib header (RFC 1950, section 2.2): the method is 8, and the two bytes are a multiple of 31.
            guard start.count > 1, start[0] & 0x0F == 8, start[0] >> 4 <= 7 else { return false }
            return (Int(start[0]) << 8 | Int(start[1])).isMultiple(of: 31)
        default: return nil
        }
    }

    /// Undoes a coding; nil if the coding is not available, or the bytes are not in it.
    ///
    /// The ratio does not matter: the developer chose the files, and the budget bounds them all.
    static func decode(
        _ bytes: Data, _ coding: String, within budget: inout ImportBudget
    ) throws(CassetteImportError) -> Data? {
        try budget.spend(bytes: attemptCost)
        let limits = ContentDecodingLimits(maximumRatio: .max)
        guard let decoder = try? ContentDecoder([ContentCoding(coding)], limits: limits) else { return nil }
        decoder.feed(bytes)
        var content = Data()
        while let part = try? decoder.next() {
            try budget.spend(bytes: part.count)
            content.append(part)
        }
        // An error is thrown again by each call.
        return (try? decoder.finish()) == nil ? nil : content
    }

    /// Undoes the compression of a whole file; VCR writes zlib into files that end in `.zz`.
    static func decompressed(_ document: Data, within budget: inout ImportBudget) throws(CassetteImportError) -> Data {
        let codings = ["gzip", document.first == 0x78 ? "deflate" : nil].compactMap(\.self)
        guard document.count > 2, let coding = codings.first(where: { isMagic(document, of: $0) == true }) else {
            return document
        }
        let content = try decode(document, coding, within: &budget)
        guard let content, content.count <= budget.limits.fileLength else {
            throw CassetteImportError(reason: "it is compressed, and damaged or too large")
        }
        return content
    }
}

extension RecordedResponse {
    /// Whether a response can have content at all (RFC 9110, section 6.4.1).
    static func mayHaveContent(_ status: Int, to method: String) -> Bool {
        method != "HEAD" && status >= 200 && status != 204 && status != 304
    }

    /// Undoes the content coding within the standard limits, if that is possible.
    mutating func decodeContent(of method: String) {
        var budget = ImportBudget()
        _ = try? decodeContent(of: method, within: &budget)
    }

    /// Undoes the content coding; returns the text of a warning, if any.
    ///
    /// If `mayBeCoded` is false, only content that begins with the coding's magic number is decoded.
    mutating func decodeContent(
        of method: String, mayBeCoded: Bool = true, within budget: inout ImportBudget
    ) throws(CassetteImportError) -> String? {
        fields[.transferEncoding] = nil
        // Without content, these fields describe the answer to another request.
        guard method != "HEAD", status != 304, let value = fields[.contentEncoding] else { return nil }
        let codings = value.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
        // `identity` names no coding (RFC 9110, section 8.4.1).
        if body.bytes.isEmpty || codings.allSatisfy({ $0 == "identity" }) {
            fields[.contentEncoding] = nil
            return nil
        }
        var message: String?
        var bytes = body.bytes
        for coding in codings.reversed() where coding != "identity" {
            let isMagic = StoredCoding.isMagic(bytes, of: coding)
            let mayDecode = isMagic == true || mayBeCoded
            let decoded = mayDecode ? try StoredCoding.decode(bytes, coding, within: &budget) : nil
            switch decoded {
            case let decoded?: bytes = decoded
            case nil where Self.isCoded(bytes, coding, isMagic: isMagic, mayBeCoded: mayBeCoded):
                return "The content cannot be decoded from \(coding), and was left as it is."
            case nil:
                message = "The content is not in the coding \(coding) that its field names; it had been decoded before."
            }
        }
        coding = codings.joined(separator: ", ")
        fields[.contentEncoding] = nil
        body.bytes = bytes
        if fields.contains(.contentLength) { fields[.contentLength] = String(bytes.count) }
        return message
    }

    /// Whether bytes that could not be decoded are in the coding all the same; text is not.
    private static func isCoded(_ bytes: Data, _ coding: String, isMagic: Bool?, mayBeCoded: Bool) -> Bool {
        if let isMagic, coding != "deflate" { return isMagic }
        // The header of a zlib stream may look like two letters, and the raw data within it has no header.
        return (mayBeCoded || isMagic == true) && String(validating: bytes, as: UTF8.self) == nil
    }
}

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
