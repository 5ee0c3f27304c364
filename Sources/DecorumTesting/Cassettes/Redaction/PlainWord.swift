import Decorum

/// Words and other texts of an API's language, which no service issues as a secret.
///
/// A model's answer has `{"token": " Hello"}`, and a login page has `auth=required`. A key alone does not make such a
/// value secret. People choose words as passwords, so a word under the name of a password is secret.
enum PlainWord {
    /// Parts of names of secrets that people choose, or that are as short.
    private static let chosen = ["pass", "pw", "kennwort", "pin", "otp", "secret", "answer", "phrase", "cvc", "cvv"]
    private static let longest = 12
    private static let wordLimit = 16

    /// Whether a name is one of secrets that people choose, so that a word or a few digits are secret.
    static func isChosen(_ name: [UInt8]) -> Bool {
        let name = String(decoding: name, as: UTF8.self).lowercased()
        return chosen.contains(where: name.contains)
    }

    static func isPlain(_ value: [UInt8]) -> Bool {
        var text = String(decoding: value, as: UTF8.self)[...]
        for mark in ["##", "Ġ", "▁", "Ċ", "'"] where text.hasPrefix(mark) { text = text.dropFirst(mark.count) }
        let bytes = text.utf8.drop { $0 <= 0x20 }
        // A token of a language model may be a mark, or a part of a word in another script.
        guard bytes.contains(where: \.isLetterOrDigit) else { return true }
        guard bytes.count <= longest * wordLimit else { return false }
        if isSpecial(bytes) { return true }
        let words = bytes.split { !$0.isLetterOrDigit && $0 < 0x80 }
        guard words.count <= wordLimit, words.count < 2 || isProse(bytes, words.count) else { return false }
        // An identifier has few words, and a passphrase has more.
        guard words.count <= 3 || bytes.contains(0x20) else { return false }
        return words.allSatisfy { isWord(Array($0)) }
    }

    /// A control token such as `<|im_end|>` or `[CLS]`.
    private static func isSpecial(_ text: Substring.UTF8View) -> Bool {
        guard text.count <= 24, let first = text.first, let last = text.reversed().first else { return false }
        return first == UInt8(ascii: "<") && last == UInt8(ascii: ">")
            || first == UInt8(ascii: "[") && last == UInt8(ascii: "]")
    }

    /// Between the words of a sentence or an identifier stand few other characters.
    private static func isProse(_ text: Substring.UTF8View, _ words: Int) -> Bool {
        let others = text.filter { !$0.isLetterOrDigit && $0 < 0x80 }
        return others.count <= 2 * words && others.allSatisfy { " -_.,:;!?'/()\n".utf8.contains($0) }
    }

    private static func isWord(_ word: [UInt8]) -> Bool {
        if word.allSatisfy(\.isDigit) { return word.count <= 3 }
        guard word.count <= longest, !word.contains(where: \.isDigit) else { return false }
        let rest = word.dropFirst()
        let isCased = !rest.contains(where: \.isUppercase) || !word.contains(where: \.isLowercase)
        guard isCased else { return false }
        return word.count <= 7 || isPronounceable(word)
    }

    /// Long random letters have few vowels, or many consonants in sequence.
    private static func isPronounceable(_ word: [UInt8]) -> Bool {
        var consonants = 0
        var vowels = 0
        for byte in word {
            if "aeiouy".utf8.contains(byte | 0x20) || byte >= 0x80 {
                (consonants, vowels) = (0, vowels + 1)
            } else {
                consonants += 1
                if consonants > 4 { return false }
            }
        }
        return vowels * 4 >= word.count && vowels * 3 <= word.count * 2
    }
}
