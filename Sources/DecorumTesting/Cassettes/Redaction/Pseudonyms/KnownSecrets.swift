/// The secrets that names have marked, which are replaced in every other place too.
///
/// A secret of at least 12 bytes is replaced wherever it stands. A shorter one is replaced as a whole word, if it is no
/// word of a language: `hunter2` is, and `admin` is not. Base64 of a text with a secret becomes that of the text without it.
struct KnownSecrets: Sendable {
    private static let verbatimLength = 12

    private var search = NeedleSearch()
    private var replacements: [(text: [UInt8], isWord: Bool)] = []

    var isEmpty: Bool { search.isEmpty }

    mutating func insert(_ secret: [UInt8], replacedBy text: [UInt8]) {
        guard Self.isUnmistakable(secret) else { return }
        let spellings = zip(SecretSpelling.all(of: secret), SecretSpelling.inStep(with: secret, of: text))
        for (spelling, replacement) in spellings {
            search.insert(spelling, tag: replacements.count)
            replacements.append((replacement, secret.count < Self.verbatimLength))
        }
    }

    /// Replaces the secrets, also in Base64; nil when there are none.
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
        let matches = matches(in: text)
        guard !matches.isEmpty else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var copied = 0
        for match in matches {
            output += text[copied..<match.range.lowerBound]
            output += replacements[match.tag].text
            copied = match.range.upperBound
        }
        return output + text[copied...]
    }

    private func matches(in text: [UInt8]) -> [NeedleSearch.Match] {
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
        func isInWord(_ index: Int) -> Bool { text[index].isLetterOrDigit || "-_".utf8.contains(text[index]) }
        return (range.lowerBound == 0 || !isInWord(range.lowerBound - 1))
            && (range.upperBound == text.count || !isInWord(range.upperBound))
    }

    /// Returns whether a secret can be searched for in any text: its bytes neither break a JSON string nor are a JSON
    /// number, and a short one is no word.
    private static func isUnmistakable(_ secret: [UInt8]) -> Bool {
        guard secret.count >= verbatimLength || !PlainWord.isPlain(secret) && Set(secret).count >= 4 else {
            return false
        }
        return secret.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F }
            && !secret.allSatisfy { $0.isDigit || "+-.eE".utf8.contains($0) }
    }
}
