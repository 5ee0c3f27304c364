/// The pairs of neighbours in texts that consist of words, as the codes and slugs of an API do.
///
/// A random text has many pairs that such texts rarely have: a letter beside a digit, a capital inside a word, or
/// letters such as `qz`. The separators of a text tell nothing, since the alphabet of Base64 for URLs has them too.
package enum WordPairs {
    /// The letters that often follow each letter of the alphabet, in English and other European languages.
    private static let followers: [Set<UInt8>] = [
        "abcdfghiklmnprstuvyz", "aeiloru", "aehiklortuyz", "aeiorsu", "abcdefghijklmnpqrstvwxyz", "aefilortu",
        "aeghinorsu", "aeinort", "abcdefgijklmnoprstvz", "aeo", "aeiklorstu", "adeilmostuy", "abeimopu",
        "acdefgiklnostuvy", "abcdefgiklmnoprstuvw", "aeiloprtu", "u", "acdegiklmnorstuvyz", "acehiklmopstuy",
        "acehilnoprstuy", "abcdeiklmnoprstuy", "aeio", "aeio", "pt", "aeinopst", "aei",
    ].map { Set($0.utf8) }

    /// Whether less than a quarter of the pairs of a text are unusual in words; those in names do not count.
    ///
    /// Of random texts of 16 characters in Base32, Base62 or Base64 for URLs, fewer than one in a thousand have so few.
    package static func prevail(in text: ArraySlice<UInt8>) -> Bool {
        let text = Array(text)
        func unusual(in indices: Range<Int>) -> Int { indices.dropLast().count(where: { !isUsual(text, at: $0) }) }
        let names = text.split(whereSeparator: { !$0.isASCIILetterOrDigit }).filter(isName)
        let unusualCount = names.reduce(unusual(in: text.indices)) { $0 - unusual(in: $1.indices) }
        return unusualCount * 4 < text.count
    }

    /// Whether a part between separators is a capital with four small letters or more, as in `Wroclaw`.
    ///
    /// Names have pairs that are unusual in other words, and a random part of both cases hardly ever has this form. A
    /// part of small letters is no name, because the groups of a recovery code consist of them too.
    private static func isName(_ part: ArraySlice<UInt8>) -> Bool {
        guard part.count >= 5, let first = part.first else { return false }
        return (0x41...0x5A).contains(first) && part.dropFirst().allSatisfy(isLowercase)
    }

    private static func isUsual(_ text: [UInt8], at index: Int) -> Bool {
        let (one, other) = (text[index], text[index + 1])
        // An escape of a URL has any digits.
        guard index == 0 || text[index - 1] != UInt8(ascii: "%") else { return true }
        guard one.isASCIILetterOrDigit, other.isASCIILetterOrDigit else { return true }
        guard !one.isDecimalDigit, !other.isDecimalDigit else { return one.isDecimalDigit == other.isDecimalDigit }
        if isLowercase(one), !isLowercase(other) {
            // A word in camel case has small letters on both sides of its capital.
            return index > 0 && isLowercase(text[index - 1]) && index + 2 < text.count && isLowercase(text[index + 2])
        }
        return followers[Int((one | 0x20) - UInt8(ascii: "a"))].contains(other | 0x20)
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
}
