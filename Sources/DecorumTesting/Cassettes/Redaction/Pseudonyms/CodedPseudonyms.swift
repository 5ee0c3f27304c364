import Decorum

// In a URL or a form, a character may be percent-encoded although it need not be. Such a text means the same (RFC 3986,
// section 6.2.2.2), and a pseudonym in it is the same one.
extension Pseudonym {
    /// Replaces all pseudonyms of a URL by ``erasedText``, also those with percent-encoded letters and digits.
    static func erased(inCoded url: String) -> String {
        guard url.containsUTF8(where: { $0 == UInt8(ascii: "%") }) else { return erased(in: url) }
        return erased(inCoded: Array(url.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? url
    }

    /// Replaces all pseudonyms of a form by ``erasedText``, also those with percent-encoded letters and digits; nil when it
    /// has none.
    static func erased(inCoded bytes: [UInt8]) -> [UInt8]? {
        guard bytes.contains(UInt8(ascii: "%")) else { return erased(in: bytes) }
        return erased(in: withPlainCharacters(bytes))
    }

    /// The text with letters, digits, hyphens, dots and underscores as they are; all else stays encoded.
    private static func withPlainCharacters(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = PercentCoding.hexDigit(bytes[index + 1]), let low = PercentCoding.hexDigit(bytes[index + 2]),
                isPlain(high << 4 | low)
            {
                output.append(high << 4 | low)
                index += 3
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
        return output
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetterOrDigit || "-_.".utf8.contains(byte) }
}
