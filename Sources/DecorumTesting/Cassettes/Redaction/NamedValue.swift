import Decorum
import DecorumArchive

/// Finds a long value behind a name of a secret, in any notation: `token = "…"`, `secret: '…'`, `<password>…<`.
///
/// Redaction knows the notations that have a media type. This is for all others, such as a script in a page.
enum NamedValue {
    private static let names = SecretNames([
        "*access_key", "*api_key", "*passwd", "*password", "*private_key", "*secret", "*secret_key", "*token",
    ])
    private static let nameLimit = 40
    private static let valueLimit = 4096

    /// Whether a byte may separate a name from its value.
    static func separates(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ">")
    }

    /// The value behind a separator; nil if it has no quotes around it, or cannot be a secret.
    static func range(in bytes: [UInt8], behind separator: Int) -> Range<Int>? {
        guard let name = name(in: bytes, before: separator), let start = start(in: bytes, behind: separator) else {
            return nil
        }
        var end = start
        while end < bytes.count, end - start < valueLimit, isInToken(bytes[end]) { end += 1 }
        guard end < bytes.count, "\"'\\<".utf8.contains(bytes[end]), isRandom(bytes[start..<end]) else { return nil }
        return names.contains(String(decoding: bytes[name], as: UTF8.self)) ? start..<end : nil
    }

    private static func name(in bytes: [UInt8], before separator: Int) -> Range<Int>? {
        var end = separator
        while end > 0, separator - end < 3, " \"'\\".utf8.contains(bytes[end - 1]) { end -= 1 }
        var start = end
        while start > 0, end - start < nameLimit, TokenSearch.isWord(bytes[start - 1]) { start -= 1 }
        return end - start > 4 ? start..<end : nil
    }

    private static func start(in bytes: [UInt8], behind separator: Int) -> Int? {
        var start = separator + 1
        guard bytes[separator] != UInt8(ascii: ">") else { return start }
        while start < bytes.count, start - separator < 4, bytes[start] == 0x20 || bytes[start] == UInt8(ascii: "\\") {
            start += 1
        }
        guard start < bytes.count, "\"'".utf8.contains(bytes[start]) else { return nil }
        return start + 1
    }

    /// Words have few kinds of characters; a token of this length has many.
    private static func isRandom(_ value: ArraySlice<UInt8>) -> Bool {
        value.count >= 16 && value.contains { (0x30...0x39).contains($0) }
            && value.contains { (0x61...0x7A).contains($0 | 0x20) } && Set(value).count >= 8
            && !Pseudonym.isPseudonym(value)
    }

    private static func isInToken(_ byte: UInt8) -> Bool {
        TokenSearch.isWord(byte) || "+/=.~".utf8.contains(byte)
    }
}
