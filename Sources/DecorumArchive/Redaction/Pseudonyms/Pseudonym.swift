/// The name that stands for a secret in a cassette, such as `__access-token-1__`.
///
/// It is made of lowercase letters, digits and hyphens between two underscores on either side. None of them is encoded
/// in a URL, a form, JSON, a cookie or a field, so a pseudonym reads the same everywhere, and a client that was answered
/// with one sends it back as it is. Its end is marked, so that what follows it is not taken for a part of it.
public enum Pseudonym: Sendable {
    /// What a pseudonym becomes when it is compared: the same for all.
    ///
    /// The name goes with the number, since it only says where the secret was seen first.
    public static let erasedText = "__secret__"

    private static let nameLimit = 32
    private static let digitLimit = 9

    /// Tells whether bytes are a pseudonym and nothing else.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: Whether all of them are one pseudonym.
    public static func isPseudonym(_ bytes: some Collection<UInt8>) -> Bool {
        // A pseudonym is short, and most secrets do not start as one does.
        guard bytes.count <= nameLimit + digitLimit + 5, bytes.first == UInt8(ascii: "_") else { return false }
        let bytes = Array(bytes)
        return parse(bytes, at: 0)?.end == bytes.count
    }

    /// Makes a text with pseudonyms equal to every other that differs from it in its pseudonyms alone.
    ///
    /// - Parameter text: A redacted text.
    /// - Returns: The text to compare.
    public static func erased(in text: String) -> String {
        guard text.containsUTF8(where: { $0 == UInt8(ascii: "_") }) else { return text }
        return erased(in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Makes a text with pseudonyms equal to every other that differs from it in its pseudonyms alone.
    ///
    /// - Parameter bytes: A redacted text.
    /// - Returns: The text to compare; nil where it has no pseudonym.
    public static func erased(in bytes: [UInt8]) -> [UInt8]? {
        let found = all(in: bytes)
        guard !found.isEmpty else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var copied = 0
        for pseudonym in found {
            output += bytes[copied..<pseudonym.range.lowerBound]
            output += erasedText.utf8
            copied = pseudonym.range.upperBound
        }
        return output + bytes[copied...]
    }

    /// Spells a pseudonym.
    static func text(name: String, number: Int) -> String {
        "__\(name)-\(number)__"
    }

    /// Gives a name of any spelling the form that it has in a pseudonym: `accessToken` becomes `access-token`.
    static func normalizedName(_ name: some Sequence<UInt8>) -> String {
        let name = Array(name.prefix(2 * nameLimit))
        var output: [UInt8] = []
        for (index, byte) in name.enumerated() {
            switch byte {
            case 0x61...0x7A, 0x30...0x39: output.append(byte)
            case 0x41...0x5A:
                let startsWord =
                    index > 0
                    && (isLowercase(name[index - 1]) || index + 1 < name.count && isLowercase(name[index + 1]))
                if startsWord, output.last != UInt8(ascii: "-") { output.append(UInt8(ascii: "-")) }
                output.append(byte | 0x20)
            default:
                if output.last != UInt8(ascii: "-") { output.append(UInt8(ascii: "-")) }
            }
        }
        let trimmed = output.drop { $0 == UInt8(ascii: "-") }.prefix(nameLimit)
        let end = trimmed.lastIndex { $0 != UInt8(ascii: "-") }.map { $0 + 1 } ?? trimmed.startIndex
        return end == trimmed.startIndex ? "secret" : String(decoding: trimmed[..<end], as: UTF8.self)
    }

    struct Found {
        let range: Range<Int>
        let name: String
        let number: Int
    }

    /// Finds the pseudonyms in a text, from the left.
    static func all(in bytes: [UInt8]) -> [Found] {
        var found: [Found] = []
        var index = 0
        while index + 1 < bytes.count {
            guard bytes[index] == UInt8(ascii: "_"), bytes[index + 1] == UInt8(ascii: "_"),
                let pseudonym = parse(bytes, at: index)
            else {
                index += 1
                continue
            }
            found.append(Found(range: index..<pseudonym.end, name: pseudonym.name, number: pseudonym.number))
            index = pseudonym.end
        }
        return found
    }

    private static func parse(_ bytes: [UInt8], at start: Int) -> (name: String, number: Int, end: Int)? {
        let limit = min(bytes.count, start + nameLimit + digitLimit + 5)
        guard bytes[start..<limit].starts(with: "__".utf8) else { return nil }
        let end = bytes[start + 2..<limit].firstIndex { !isLowercase($0) && !isDigit($0) && $0 != UInt8(ascii: "-") }
        guard let end, bytes[end..<limit].starts(with: "__".utf8),
            let hyphen = bytes[start + 2..<end].lastIndex(of: UInt8(ascii: "-")), hyphen > start + 2
        else { return nil }
        let digits = bytes[hyphen + 1..<end]
        guard digits.count <= digitLimit, digits.first != UInt8(ascii: "0"), digits.allSatisfy(isDigit),
            let number = Int(String(decoding: digits, as: UTF8.self))
        else { return nil }
        return (String(decoding: bytes[start + 2..<hyphen], as: UTF8.self), number, end + 2)
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
