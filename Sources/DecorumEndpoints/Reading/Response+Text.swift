public import Decorum
import Foundation
import HTTPTypes

extension Response {
    /// Reads the whole body as text in its charset: that of a byte order mark, or else the one that `Content-Type` names, or
    /// else UTF-8.
    ///
    /// ```swift
    /// let text = try await response.text(upTo: 1 << 20)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes to accept.
    ///   - repairing: Whether bytes that are not valid become U+FFFD, as in browsers; if not, they are an error.
    /// - Returns: The text, without the byte order mark.
    /// - Throws: As `Body.collect(upTo:)` of the core, or ``TextDecodingError``, also for content that still has a content
    ///   coding.
    @concurrent public func text(upTo limit: Int, repairing: Bool = true) async throws -> String {
        let content = try await data(upTo: limit)
        let codings = ContentCoding.applied(to: head.headerFields)
        guard codings.isEmpty || content.isEmpty else {
            let names = Self.shown(codings.map(\.name).joined(separator: ", "))
            throw TextDecodingError(
                nil, "has the content coding \(names), so it is no text; apply `decompressing()`.", of: self)
        }
        let label = head.headerFields[.contentType].flatMap { ParameterizedValue($0)["charset"] }
        let mark = Charset.marked(content)
        guard let charset = mark?.charset ?? label.map({ Charset(label: $0) }) ?? .utf8 else {
            throw TextDecodingError(
                nil, "has an unknown charset; read `body.data(upTo:)`, and decode it yourself.", of: self)
        }
        let bytes = content.dropFirst(mark?.markLength ?? 0)
        guard let text = charset.decode(bytes, repairing: repairing) else {
            throw TextDecodingError(charset, "has content that is not \(charset.name).", of: self)
        }
        return text
    }
}

/// The content of a response is not text in its charset, its charset is not known, or it still has a content coding.
public struct TextDecodingError: DescribableError {
    /// The name of the charset, in lower case; nil if the label of `Content-Type` is not known, or if the content was not
    /// decoded.
    public let charset: String?
    /// A sentence that names the response, with its URL but without the query; never a part of the content.
    public let description: String

    init(_ charset: Charset?, _ fault: String, of response: Response) {
        self.charset = charset?.name
        description = "The \(response.summary) \(fault)"
    }
}

/// A character encoding of text, by its labels in the Encoding Standard of WHATWG.
///
/// `iso-8859-1` and `us-ascii` are labels of windows-1252 there, as in all browsers. The names of UTF-8 in MySQL and Python,
/// `utf8mb4` and `utf-8-sig`, are labels here too, since servers send them.
struct Charset: Sendable, Hashable {
    private enum Form: Sendable, Hashable {
        case utf8
        case utf16(isBigEndian: Bool)
        case windows1252
        case foundation(String.Encoding)
    }

    /// The name of the encoding, in lower case.
    let name: String
    private let form: Form

    /// UTF-8.
    static let utf8 = Charset(name: "utf-8", form: .utf8)

    private init(name: String, form: Form) {
        self.name = name
        self.form = form
    }

    /// Finds the encoding of a label, in any letter case; nil for one that is not known, or that Foundation lacks on some
    /// system.
    init?(label: String) {
        let label = label.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
        guard let charset = Self.all.first(where: { $0.labels.contains(label) }) else { return nil }
        self.init(name: charset.name, form: charset.form)
    }

    /// The encoding that a byte order mark at the begin of the content names, and the number of bytes of the mark.
    static func marked(_ content: Data) -> (charset: Charset, markLength: Int)? {
        if content.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
        let isBigEndian = content.starts(with: [0xFE, 0xFF])
        guard isBigEndian || content.starts(with: [0xFF, 0xFE]) else { return nil }
        return (Charset(name: isBigEndian ? "utf-16be" : "utf-16le", form: .utf16(isBigEndian: isBigEndian)), 2)
    }

    /// Decodes bytes without a byte order mark.
    ///
    /// Bytes that are invalid in UTF-8 and UTF-16 become U+FFFD with `repairing`; in other encodings, they make the result nil.
    func decode(_ content: Data, repairing: Bool = true) -> String? {
        switch form {
        case .utf8:
            repairing ? String(decoding: content, as: UTF8.self) : String(validating: content, as: UTF8.self)
        case .utf16(let isBigEndian): Self.decode16(Array(content), isBigEndian: isBigEndian, repairing: repairing)
        case .windows1252: String(String.UnicodeScalarView(content.map { Self.scalar($0) }))
        case .foundation(let encoding): String(data: content, encoding: encoding)
        }
    }

    private static func decode16(_ bytes: [UInt8], isBigEndian: Bool, repairing: Bool) -> String? {
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        let isWhole = bytes.count.isMultiple(of: 2)
        guard repairing else { return isWhole ? String(validating: units, as: UTF16.self) : nil }
        return String(decoding: units, as: UTF16.self) + (isWhole ? "" : "\u{FFFD}")
    }

    private static func scalar(_ byte: UInt8) -> Unicode.Scalar {
        (0x80...0x9F).contains(byte) ? windows1252[Int(byte) - 0x80] : Unicode.Scalar(byte)
    }

    /// The characters of the bytes 80 to 9F; the five that have none stand for the control characters of their number.
    private static let windows1252 = Array(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars)
}

extension Charset {
    private static let all: [(name: String, labels: Set<String>, form: Form)] = [
        (
            "utf-8",
            [
                "utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8", "utf8mb4",
                "utf-8-sig",
            ], .utf8
        ),
        (
            "windows-1252",
            [
                "windows-1252", "cp1252", "x-cp1252", "iso-8859-1", "iso8859-1", "iso88591", "iso_8859-1",
                "iso_8859-1:1987", "iso-ir-100", "csisolatin1", "latin1", "l1", "cp819", "ibm819", "ascii", "us-ascii",
                "ansi_x3.4-1968",
            ], .windows1252
        ),
        (
            "utf-16le",
            ["utf-16", "utf-16le", "ucs-2", "unicode", "iso-10646-ucs-2", "csunicode", "unicodefeff"],
            .utf16(isBigEndian: false)
        ),
        ("utf-16be", ["utf-16be", "unicodefffe"], .utf16(isBigEndian: true)),
        (
            "iso-8859-2",
            [
                "iso-8859-2", "iso8859-2", "iso88592", "iso_8859-2", "iso_8859-2:1987", "iso-ir-101", "csisolatin2",
                "latin2", "l2",
            ], .foundation(.isoLatin2)
        ),
        ("windows-1250", ["windows-1250", "cp1250", "x-cp1250"], .foundation(.windowsCP1250)),
        ("windows-1251", ["windows-1251", "cp1251", "x-cp1251"], .foundation(.windowsCP1251)),
        ("windows-1253", ["windows-1253", "cp1253", "x-cp1253"], .foundation(.windowsCP1253)),
        (
            "windows-1254",
            [
                "windows-1254", "cp1254", "x-cp1254", "iso-8859-9", "iso8859-9", "iso88599", "iso_8859-9",
                "iso_8859-9:1989", "iso-ir-148", "csisolatin5", "latin5", "l5",
            ], .foundation(.windowsCP1254)
        ),
        (
            "shift_jis",
            [
                "shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "ms932", "windows-31j", "csshiftjis",
            ], .foundation(.shiftJIS)
        ),
    ]
}
