/// A text that stands for a secret in a cassette and keeps its format, such as `Redacted1AAAAAAAAAAA`.
///
/// A pseudonym is recognized by its mark in any text if its longest part has six characters, or twelve digits. A shorter
/// one, such as `1001`, has no mark and may as well be a secret: ``Pseudonyms`` knows those that it has assigned, and
/// assigns none that is a secret of the same recording. Cassettes of earlier versions hold pseudonyms like `__access-token-1__`, which are
/// recognized too.
package enum Pseudonym: Sendable {
    /// The text that replaces every pseudonym in comparisons.
    ///
    /// It has neither the format nor the number, since both differ between two runs.
    package static let erasedText = "__secret__"

    /// Returns whether bytes are exactly one pseudonym with a mark.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: Whether all of them are one pseudonym, which no secret equals by chance.
    package static func isPseudonym(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        guard !bytes.isEmpty else { return false }
        if PseudonymForm.isMarked(bytes) || TokenPseudonym.isPseudonym(bytes) { return true }
        return PseudonymPlaces.all(in: bytes) == [0..<bytes.count]
    }

    /// The number of parts between dots, such as the three of a JSON Web Token (RFC 7519, section 3).
    static func partCount(of text: some Collection<UInt8>) -> Int {
        text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count
    }

    /// Replaces all pseudonyms by ``erasedText``, so that texts that differ only in pseudonyms become equal.
    ///
    /// - Parameter text: A redacted text.
    /// - Returns: The text to compare.
    package static func erased(in text: String) -> String {
        // Every URL is searched when it is matched.
        var window: UInt32 = 0
        var letters = 0
        let mayHold = text.containsUTF8 { byte in
            window = window << 8 | UInt32(byte)
            letters = EncodedWord.isLetter(byte) ? letters + 1 : 0
            return PseudonymPlaces.isHint(window) || letters >= EncodedWord.leastLength
        }
        guard mayHold else { return text }
        return erased(in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Replaces all pseudonyms by ``erasedText``, so that texts that differ only in pseudonyms become equal.
    ///
    /// Base64 of a text with a pseudonym is replaced as a whole, since its length depends on the secret.
    ///
    /// - Parameter bytes: A redacted text.
    /// - Returns: The text to compare; nil when it has no pseudonym.
    package static func erased(in bytes: [UInt8]) -> [UInt8]? {
        let plain = erasedPlain(in: bytes)
        return EncodedWord.replacing(in: plain ?? bytes) { word in
            let isErased = word.text.firstRange(of: erasedText.utf8) != nil
            return isErased || !PseudonymPlaces.all(in: word.text).isEmpty ? Array(erasedText.utf8) : nil
        } ?? plain
    }

    private static func erasedPlain(in bytes: [UInt8]) -> [UInt8]? {
        let found = PseudonymPlaces.all(in: bytes)
        guard !found.isEmpty else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var copied = 0
        for range in found {
            output += bytes[copied..<range.lowerBound]
            output += erasedText.utf8
            copied = range.upperBound
        }
        return output + bytes[copied...]
    }
}
