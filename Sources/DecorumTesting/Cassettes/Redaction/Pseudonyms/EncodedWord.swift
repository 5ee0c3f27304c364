import Decorum
import Foundation

/// A word that is Base64 of a text (RFC 4648, sections 4 and 5), with or without padding; one level of encoding is undone.
///
/// A client makes such a word of a user name and a token, for example.
struct EncodedWord {
    /// The length of the shortest word that is decoded, since a shorter one holds no secret.
    static let leastLength = 12

    private static let paddings = ["=", "%3D", "%3d", "\\u003d", "\\u003D"].map { Array($0.utf8) }
    private static let escapes = ["%2B", "%2b", "%2F", "%2f", "\\/"].map { Array($0.utf8) }

    /// The word with its padding.
    let range: Range<Int>
    /// The text that it encodes.
    let text: [UInt8]
    private let letters: ArraySlice<UInt8>
    /// One sign of its padding, as it is written there; nil if it has none.
    private let padding: [UInt8]?
    private let isPercentEncoded: Bool

    /// The word for another text, in the same alphabet, and padded if this one is.
    func encoding(_ text: [UInt8]) -> [UInt8] {
        var coded = Array(Data(text).base64EncodedData())
        while coded.last == UInt8(ascii: "=") { coded.removeLast() }
        let count = (4 - coded.count % 4) % 4
        let isForURLs = letters.contains { "-_".utf8.contains($0) }
        if isForURLs { coded = coded.map(Self.letterForURLs) }
        if isPercentEncoded { coded = PercentCoding.encode(coded) }
        // A word of whole groups does not tell whether it would be padded; most words in this alphabet are.
        let mayBePadded = letters.count % 4 == 0 && !isForURLs
        guard count > 0, let sign = padding ?? (mayBePadded ? Self.paddings.first : nil) else { return coded }
        return coded + Array(repeating: sign, count: count).joined()
    }

    /// The words of a text that are Base64 of a text, from the left.
    ///
    /// A slash and a plus sign may be letters of a word, or stand between two words. Each byte is decoded at most twice.
    static func all(in bytes: [UInt8]) -> [EncodedWord] {
        var words: [EncodedWord] = []
        var start = 0
        var endOfTried = 0
        while start < bytes.count {
            guard isLetter(bytes[start]) else {
                start += lengthOfSeparator(in: bytes, at: start)
                continue
            }
            let end = bytes[start...].firstIndex { !isLetter($0) } ?? bytes.count
            var word: EncodedWord?
            if start >= endOfTried {
                endOfTried = Self.end(in: bytes, from: end)
                // Two words with a slash between them decode to bytes that are no UTF-8.
                if endOfTried > end, let whole = EncodedWord(bytes, start..<endOfTried),
                    String(validating: whole.text, as: UTF8.self) != nil
                {
                    word = whole
                }
            }
            word = word ?? EncodedWord(bytes, start..<end)
            if let word { words.append(word) }
            start = word?.range.upperBound ?? end
        }
        return words
    }

    /// The bytes with other bytes in place of each word for which there are some; nil if there are none for any.
    static func replacing(in bytes: [UInt8], _ replacement: (_ word: EncodedWord) -> [UInt8]?) -> [UInt8]? {
        var output: [UInt8] = []
        var copied = 0
        for word in all(in: bytes) {
            guard let other = replacement(word) else { continue }
            output += bytes[copied..<word.range.lowerBound]
            output += other
            copied = word.range.upperBound
        }
        return copied > 0 ? output + bytes[copied...] : nil
    }

    private static func letterForURLs(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: letter
        }
    }

    /// Whether a byte is a letter of a word in either alphabet, and separates no words.
    static func isLetter(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// The length of a byte between words, or of its escape in a URL or in JSON, whose letters belong to no word.
    private static func lengthOfSeparator(in bytes: [UInt8], at index: Int) -> Int {
        let rest = bytes[(index + 1)...].prefix(5)
        switch bytes[index] {
        case UInt8(ascii: "%"):
            return rest.count >= 2 && rest.prefix(2).allSatisfy { PercentCoding.hexDigit($0) != nil } ? 3 : 1
        case UInt8(ascii: "\\"):
            guard let escape = rest.first else { return 1 }
            if escape == UInt8(ascii: "u"), rest.count == 5 { return 6 }
            return "bfnrt\"\\/".utf8.contains(escape) ? 2 : 1
        default: return 1
        }
    }

    /// The end of a word that goes on with a slash or a plus sign, as they are or escaped.
    private static func end(in bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if isLetter(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/") {
                index += 1
            } else if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\"),
                let escape = escapes.first(where: { bytes[index...].starts(with: $0) })
            {
                index += escape.count
            } else {
                break
            }
        }
        return index
    }

    /// Reads the word in a range without its padding; nil if it is no Base64 of a text.
    private init?(_ bytes: [UInt8], _ range: Range<Int>) {
        guard range.count >= Self.leastLength else { return nil }
        let word = bytes[range]
        let isEscaped = word.contains(UInt8(ascii: "%"))
        let letters = isEscaped ? PercentCoding.decode(word, plusIsBlank: false)[...] : JSONText.unescape(word)[...]
        guard letters.count >= Self.leastLength,
            let text = Base64Text.decode(letters, where: { Base64Text.isText($0) })
        else { return nil }
        var end = range.upperBound
        let sign = Self.paddings.first { bytes[end...].starts(with: $0) }
        if let sign {
            for _ in 0..<2 where bytes[end...].starts(with: sign) { end += sign.count }
        }
        self.range = range.lowerBound..<end
        self.text = text
        self.letters = letters
        padding = sign
        isPercentEncoded = isEscaped || sign?.first == UInt8(ascii: "%")
    }
}
