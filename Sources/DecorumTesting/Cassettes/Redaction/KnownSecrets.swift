import Decorum
import Foundation

/// The secrets that names have marked, which are replaced in every other place too.
///
/// A secret of at least 12 bytes is replaced wherever it stands. A shorter one is replaced as a whole word, if it is no
/// word of a language: `hunter2` is, and `admin` is not. Base64 of a text with a secret becomes that of the text without it.
package struct KnownSecrets: Sendable {
    private static let verbatimLength = 12

    private var secrets: Set<[UInt8]> = []
    private var search = NeedleSearch()
    private var replacements: [(text: [UInt8], isWord: Bool)] = []

    var isEmpty: Bool { search.isEmpty }

    mutating func insert(_ secret: [UInt8], replacedBy text: [UInt8]) {
        guard secrets.insert(secret).inserted, Self.isUnmistakable(secret) else { return }
        // Of equal spellings, the search keeps the first.
        for spelling in SecretSpelling.allCases {
            search.insert(spelling.write(secret), tag: replacements.count)
            replacements.append((spelling.write(text), secret.count < Self.verbatimLength))
        }
    }

    /// Replaces the secrets, also in Base64; nil if the text has none.
    func replacing(in text: [UInt8]) -> [UInt8]? {
        guard !isEmpty else { return nil }
        let plain = replacingPlain(in: text)
        return EncodedWord.replacing(in: plain ?? text) { word in
            replacingPlain(in: word.text).map { word.encoding($0) }
        } ?? plain
    }

    /// The ranges of the secrets that a text still holds, and of Base64 with one, from the left.
    func places(in text: [UInt8]) -> [Range<Int>] {
        guard !isEmpty else { return [] }
        let encoded = EncodedWord.all(in: text).filter { !matches(in: $0.text).isEmpty }
        return (matches(in: text).map(\.range) + encoded.map(\.range)).sorted { $0.lowerBound < $1.lowerBound }
    }

    private func replacingPlain(in text: [UInt8]) -> [UInt8]? {
        var edits = TextEdits(text)
        for match in matches(in: text) { edits.replace(match.range, with: replacements[match.tag].text) }
        return edits.result
    }

    private func matches(in text: [UInt8]) -> [(range: Range<Int>, tag: Int)] {
        let matches = search.matches(in: text).filter { match in
            !replacements[match.tag].isWord || Self.isWhole(match.range, in: text)
        }
        guard !matches.isEmpty else { return [] }
        // A secret may equal a part of a pseudonym.
        var pseudonyms = PseudonymPlaces.all(in: text)[...]
        return matches.filter { match in
            while let first = pseudonyms.first, first.upperBound <= match.range.lowerBound { pseudonyms.removeFirst() }
            return pseudonyms.first.map { !$0.overlaps(match.range) } ?? true
        }
    }

    private static func isWhole(_ range: Range<Int>, in text: [UInt8]) -> Bool {
        (range.lowerBound == 0 || !text[range.lowerBound - 1].isInWord)
            && (range.upperBound == text.count || !text[range.upperBound].isInWord)
    }

    /// Whether a secret can be searched for in any text: its bytes neither break a JSON string nor are a JSON number, and a
    /// short one is no word.
    private static func isUnmistakable(_ secret: [UInt8]) -> Bool {
        guard secret.count >= verbatimLength || !PlainWord.isPlain(secret) && Set(secret).count >= 4 else {
            return false
        }
        return secret.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F }
            && !secret.allSatisfy { $0.isDigit || "+-.eE".utf8.contains($0) }
    }
}

/// The forms of a text in the places that encode it.
enum SecretSpelling: CaseIterable {
    case plain
    case percentEncoded
    /// Percent-encoded with digits in lower case.
    case lowercased
    case escaped
    /// A string of JSON with escaped slashes.
    case slashed

    func write(_ text: [UInt8]) -> [UInt8] {
        switch self {
        case .plain: return text
        case .percentEncoded: return PercentEscapes.encode(text)
        case .lowercased:
            var encoded = PercentEscapes.encode(text)
            for index in encoded.indices where encoded[index] == UInt8(ascii: "%") {
                for digit in index + 1...index + 2 where encoded[digit].isUppercase { encoded[digit] |= 0x20 }
            }
            return encoded
        case .escaped: return JSONText.escape(text)
        case .slashed:
            return JSONText.escape(text).flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] }
        }
    }
}

/// Searches a text for many byte strings at once, in a time that depends only on the length of the text.
package struct NeedleSearch: Sendable {
    private struct Needle {
        let bytes: [UInt8]
        let tag: Int
        /// The offset of the bytes by which the needle is looked up.
        let offset: Int
    }

    /// The number of bytes by which a needle is looked up; a shorter needle is not added.
    static let minimumLength = 6
    private static let mask: UInt64 = (1 << (8 * UInt64(minimumLength))) - 1
    /// The place of the first two of these bytes.
    private static let shift = UInt64(8 * (minimumLength - 2))

    private var known: Set<[UInt8]> = []
    private var needles: [UInt64: [Needle]] = [:]
    /// For each pair of bytes, whether the bytes of a lookup start with it; this avoids the lookup at most positions.
    private var starts: [Bool] = []

    package init() {}

    var isEmpty: Bool { needles.isEmpty }

    /// Adds a needle unless it is too short or already present.
    ///
    /// The needle is looked up by the part of it that the fewest other needles share, because all tokens of one kind
    /// start with the same bytes.
    package mutating func insert(_ bytes: [UInt8], tag: Int) {
        guard bytes.count >= Self.minimumLength, known.insert(bytes).inserted else { return }
        if starts.isEmpty { starts = Array(repeating: false, count: 1 << 16) }
        var best = (key: 0 as UInt64, offset: 0, count: Int.max)
        let last = bytes.count - Self.minimumLength
        for offset in Array(stride(from: 0, to: last, by: Self.minimumLength)) + [last] {
            let key = bytes[offset..<offset + Self.minimumLength].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            let count = needles[key]?.count ?? 0
            if count < best.count { best = (key, offset, count) }
            if count == 0 { break }
        }
        needles[best.key, default: []].append(Needle(bytes: bytes, tag: tag, offset: best.offset))
        starts[Int(best.key >> Self.shift)] = true
    }

    /// Finds the ranges of needles in a text and their tags, from the left; of matches that overlap, the first and then the
    /// longest one.
    package func matches(in text: [UInt8]) -> [(range: Range<Int>, tag: Int)] {
        guard !needles.isEmpty, text.count >= Self.minimumLength else { return [] }
        var matches: [(range: Range<Int>, tag: Int)] = []
        var window: UInt64 = 0
        let (mask, shift) = (Self.mask, Self.shift)
        for index in 0..<text.count {
            window = (window << 8 | UInt64(text[index])) & mask
            let found = index + 1 - Self.minimumLength
            guard found >= 0, starts[Int(window >> shift)], let bucket = needles[window] else { continue }
            for needle in bucket {
                let start = found - needle.offset
                if start >= 0, text[start...].starts(with: needle.bytes) {
                    matches.append((start..<start + needle.bytes.count, needle.tag))
                }
            }
        }
        guard matches.count > 1 else { return matches }
        var end = 0
        return matches.sorted { ($0.range.lowerBound, -$0.range.count) < ($1.range.lowerBound, -$1.range.count) }
            .filter { match in
                guard match.range.lowerBound >= end else { return false }
                end = match.range.upperBound
                return true
            }
    }
}

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
        if isForURLs {
            coded = coded.map { $0 == UInt8(ascii: "+") ? 0x2D : $0 == UInt8(ascii: "/") ? 0x5F : $0 }
        }
        if isPercentEncoded { coded = PercentEscapes.encode(coded) }
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
        var (start, endOfTried) = (0, 0)
        while start < bytes.count {
            guard bytes[start].isInWord else {
                start += lengthOfSeparator(in: bytes, at: start)
                continue
            }
            let end = bytes[start...].firstIndex { !$0.isInWord } ?? bytes.count
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

    /// The bytes with another text in place of each word for which there is one; nil if no word is replaced.
    static func replacing(in bytes: [UInt8], _ replacement: (_ word: EncodedWord) -> [UInt8]?) -> [UInt8]? {
        var edits = TextEdits(bytes)
        for word in all(in: bytes) {
            if let other = replacement(word) { edits.replace(word.range, with: other) }
        }
        return edits.result
    }

    /// The length of a byte between words, or of its escape in a URL or in JSON, whose letters belong to no word.
    private static func lengthOfSeparator(in bytes: [UInt8], at index: Int) -> Int {
        let rest = bytes[(index + 1)...].prefix(5)
        switch bytes[index] {
        case UInt8(ascii: "%"):
            return rest.count >= 2 && rest.prefix(2).allSatisfy { PercentEscapes.hexDigit($0) != nil } ? 3 : 1
        case UInt8(ascii: "\\"):
            if rest.first == UInt8(ascii: "u"), rest.count == 5 { return 6 }
            return rest.first.map { "bfnrt\"\\/".utf8.contains($0) } ?? false ? 2 : 1
        default: return 1
        }
    }

    /// The end of a word that goes on with a slash or a plus sign, as they are or escaped.
    private static func end(in bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while index < bytes.count {
            if bytes[index].isInWord || bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "/") {
                index += 1
            } else if bytes[index] == UInt8(ascii: "%") || bytes[index] == UInt8(ascii: "\\"),
                let escape = escapes.first(where: { bytes[index...].starts(with: $0) })
            {
                index += escape.count
            } else {
                break
            }
        }
        return index
    }

    /// Reads the word in a range without its padding; nil if it is not Base64 of a text.
    private init?(_ bytes: [UInt8], _ range: Range<Int>) {
        guard range.count >= Self.leastLength else { return nil }
        let word = bytes[range]
        let isEscaped = word.contains(UInt8(ascii: "%"))
        letters = isEscaped ? PercentEscapes.decode(word, plusIsBlank: false)[...] : JSONText.unescape(word)[...]
        guard letters.count >= Self.leastLength,
            let text = Base64Text.decode(letters, where: { Base64Text.isText($0) })
        else { return nil }
        var end = range.upperBound
        padding = Self.paddings.first { bytes[end...].starts(with: $0) }
        if let padding {
            for _ in 0..<2 where bytes[end...].starts(with: padding) { end += padding.count }
        }
        self.range = range.lowerBound..<end
        self.text = text
        isPercentEncoded = isEscaped || padding?.first == UInt8(ascii: "%")
    }
}
