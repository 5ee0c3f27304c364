/// Texts that look random, as tokens do.
package enum OpaqueText {
    /// Whether a text may be a token: some part between separators is long and mixes letters and digits, or the text does not
    /// consist of words; a UUID counts on request.
    package static func isOpaque(_ text: ArraySlice<UInt8>, orUUID: Bool = true) -> Bool {
        guard (SecretPath.leastLength...2048).contains(text.count),
            text.allSatisfy({ $0.isInWord || ".~%+=/@:".utf8.contains($0) })
        else { return false }
        return isUUID(text) ? orUUID : hasRandomPart(text, of: 10) || !consistsOfWords(text)
    }

    /// Whether some part between separators has a number of characters or more, and mixes letters and digits.
    private static func hasRandomPart(_ text: ArraySlice<UInt8>, of count: Int) -> Bool {
        text.split(whereSeparator: { !$0.isLetterOrDigit }).contains { part in
            guard part.count >= count else { return false }
            let changes = zip(part, part.dropFirst()).count { $0.isDigit != $1.isDigit }
            // Dates and versions after a word change once, and so does one in 600 texts of 16 hexadecimal digits.
            return changes >= 2
                || changes == 1 && part.count >= 16 && part.allSatisfy { PercentEscapes.hexDigit($0) != nil }
        }
    }

    /// Whether a text is a path or the name of a file, as the key of an object in a store is.
    ///
    /// Base64 has slashes too, so neither its other characters nor a long part that looks random may be there, unless the
    /// text has one point and an ending in lower case after it, as in `.jpg` and `.mp4`. The parts of a UUID are shorter.
    package static func isPath(_ text: ArraySlice<UInt8>) -> Bool {
        guard !text.contains(where: { "+=".utf8.contains($0) }) else { return false }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let endsLikeFile =
            parts.count == 2 && parts[1].count <= 5 && parts[1].first?.isDigit == false
            && parts[1].allSatisfy { $0.isDigit || $0.isLowercase }
        return endsLikeFile || text.count { $0 == UInt8(ascii: "/") } > 1 && !hasRandomPart(text, of: 13)
    }

    /// Whether a text is a UUID (RFC 9562).
    package static func isUUID(_ text: ArraySlice<UInt8>) -> Bool {
        text.count == 36
            && text.enumerated().allSatisfy { index, byte in
                [8, 13, 18, 23].contains(index) ? byte == UInt8(ascii: "-") : PercentEscapes.hexDigit(byte) != nil
            }
    }

    /// The letters that often follow each letter of the alphabet, in English and other European languages.
    private static let followers: [Set<UInt8>] = [
        "abcdfghiklmnprstuvyz", "aeiloru", "aehiklortuyz", "aeiorsu", "abcdefghijklmnpqrstvwxyz", "aefilortu",
        "aeghinorsu", "aeinort", "abcdefgijklmnoprstvz", "aeo", "aeiklorstu", "adeilmostuy", "abeimopu",
        "acdefgiklnostuvy", "abcdefgiklmnoprstuvw", "aeiloprtu", "u", "acdegiklmnorstuvyz", "acehiklmopstuy",
        "acehilnoprstuy", "abcdeiklmnoprstuy", "aeio", "aeio", "pt", "aeinopst", "aei",
    ].map { Set($0.utf8) }

    /// Whether less than a quarter of the pairs of neighbours in a text are unusual in words, such as a letter beside a digit,
    /// a capital inside a word, and letters such as `qz`; pairs in names do not count.
    ///
    /// Of random texts of 16 characters in Base32, Base62 or Base64 for URLs, fewer than one in a thousand have so few. The
    /// separators tell nothing, since the alphabet of Base64 for URLs has them too.
    package static func consistsOfWords(_ text: ArraySlice<UInt8>) -> Bool {
        let text = Array(text)
        func unusual(in indices: Range<Int>) -> Int { indices.dropLast().count { !isUsual(text, at: $0) } }
        // A name is a capital with four small letters or more, as in `Wroclaw`, and a random part hardly ever is. A part of
        // small letters is no name, because the groups of a recovery code consist of them too.
        let names = text.split(whereSeparator: { !$0.isLetterOrDigit }).filter {
            $0.count >= 5 && $0.first?.isUppercase == true && $0.dropFirst().allSatisfy(\.isLowercase)
        }
        return names.reduce(unusual(in: text.indices)) { $0 - unusual(in: $1.indices) } * 4 < text.count
    }

    private static func isUsual(_ text: [UInt8], at index: Int) -> Bool {
        let (one, other) = (text[index], text[index + 1])
        // An escape of a URL has any digits.
        guard index == 0 || text[index - 1] != UInt8(ascii: "%") else { return true }
        guard one.isLetterOrDigit, other.isLetterOrDigit else { return true }
        guard !one.isDigit, !other.isDigit else { return one.isDigit == other.isDigit }
        if one.isLowercase, !other.isLowercase {
            // A word in camel case has small letters on both sides of its capital.
            return index > 0 && text[index - 1].isLowercase && index + 2 < text.count && text[index + 2].isLowercase
        }
        return followers[Int((one | 0x20) - UInt8(ascii: "a"))].contains(other | 0x20)
    }
}

/// Base64 in either alphabet, with or without its padding (RFC 4648, sections 4 and 5).
package enum Base64Text: Sendable {
    /// The bytes of a text; nil if it is not Base64, or at the first decoded byte that is not acceptable.
    package static func decode(
        _ text: ArraySlice<UInt8>, where isAcceptable: (UInt8) -> Bool = { _ in true }
    ) -> [UInt8]? {
        var text = text
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        guard text.count % 4 != 1 else { return nil }
        var (decoded, bits, count) = ([] as [UInt8], 0 as UInt32, 0)
        decoded.reserveCapacity(text.count * 3 / 4)
        for byte in text {
            guard let digit = digit(byte) else { return nil }
            bits = bits << 6 | digit
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            let next = UInt8(truncatingIfNeeded: bits >> UInt32(count))
            guard isAcceptable(next) else { return nil }
            decoded.append(next)
        }
        return decoded
    }

    /// Whether a byte may be one of a text; in Base64 of random bytes, one of the first bytes may not.
    package static func isText(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || (0x09...0x0D).contains(byte)
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5A: UInt32(byte - 0x41)
        case 0x61...0x7A: UInt32(byte - 0x61 + 26)
        case 0x30...0x39: UInt32(byte - 0x30 + 52)
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// Finds texts in Base64 that hold a token or JSON with a secret, and secret keys of AWS; one level of encoding is undone.
package enum EncodedTokens: Sendable {
    /// Finds the words of a text that are Base64 of a text with a token, or a secret key of AWS, from the left.
    package static func all(in bytes: [UInt8], rules: SecretRules) -> [Range<Int>] {
        bytes.split(whereSeparator: { !isInBase64($0) }).filter { word in
            // Behind a point, a word with a slash is the end of a host and a path.
            let isPath = bytes[..<word.startIndex].last == UInt8(ascii: ".") && isAWSSecretKey(word)
            return !isPath && isEncodedToken(word, rules)
        }.map(\.indices)
    }

    /// Whether a word may be a secret key of AWS, which is Base64 of 30 random bytes and has no prefix.
    ///
    /// A word without a plus sign or a slash is as likely an identifier, so it does not count; a slash at the start is one
    /// of a path.
    package static func isAWSSecretKey(_ word: ArraySlice<UInt8>) -> Bool {
        word.count == 40 && word.allSatisfy { $0.isLetterOrDigit || "+/".utf8.contains($0) }
            && !word.allSatisfy(\.isLetterOrDigit) && word.first != UInt8(ascii: "/")
            && word.contains(where: \.isDigit) && word.contains(where: \.isUppercase)
            && word.contains(where: \.isLowercase) && !OpaqueText.consistsOfWords(word)
    }

    /// Whether a text is Base64 of a text with a token, or a secret key of AWS; the first characters refuse nearly all texts.
    static func isEncodedToken(_ text: ArraySlice<UInt8>, _ rules: SecretRules) -> Bool {
        guard (20...1 << 16).contains(text.count), text.prefix(12).allSatisfy(isInBase64) else { return false }
        if isAWSSecretKey(text) { return true }
        guard let decoded = Base64Text.decode(text, where: Base64Text.isText) else { return false }
        return !TokenSearch.tokens(in: decoded).isEmpty
            || JSONText.isLikely(decoded) && JSONSecrets(decoded, rules: rules).hasValue
    }

    private static func isInBase64(_ byte: UInt8) -> Bool { byte.isInWord || "+/=".utf8.contains(byte) }
}
