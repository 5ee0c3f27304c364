/// Finds tokens by their shape, in one pass.
///
/// Each byte is read a bounded number of times, whatever precedes it, so the work is proportional to the length of the
/// text.
public struct TokenSearch: Sendable {
    /// A token that was found.
    public struct Token: Sendable, Hashable {
        /// The name of the kind, as used in a sentence: `GitHub token`.
        public let kind: String
        /// The bytes of the token; of a private key, the bytes up to the first line of its content.
        public let range: Range<Int>
    }

    /// The kind of a token after the word `Bearer`.
    public static let bearerToken = "Bearer token"
    /// The kind of a user name with a password after the word `Basic`.
    public static let basicCredentials = "Basic credentials"
    /// The kind of a JSON Web Token, signed or encrypted.
    public static let jsonWebToken = "JSON Web Token"
    /// The kind of the number of a payment card.
    public static let cardNumber = "card number"
    /// The kind of a private key in text form.
    public static let privateKey = "private key"

    /// The length of the shortest token.
    static let minimumLength = 12

    let text: ArraySlice<UInt8>
    private var tokens: [Token] = []
    /// The end of the credentials that were scanned last, and the position of their last digit.
    var run: (end: Int, lastDigit: Int?)
    /// The end of the words and dots that were scanned last.
    private var dottedRunEnd: Int
    /// The number of byte reads.
    var steps = 0

    /// Finds the tokens in a text, from the left.
    ///
    /// - Parameters:
    ///   - bytes: The text, or any other bytes.
    ///   - range: The part to search; nil for all bytes.
    /// - Returns: The tokens, which do not overlap.
    public static func tokens(in bytes: [UInt8], _ range: Range<Int>? = nil) -> [Token] {
        var search = TokenSearch(bytes[range ?? bytes.indices])
        search.findAll()
        return search.tokens
    }

    /// Finds the ranges to replace so that no token remains, from the left.
    static func secrets(
        in bytes: [UInt8], _ range: Range<Int>? = nil, counting steps: inout Int
    ) -> [Range<Int>] {
        let text = bytes[range ?? bytes.indices]
        var search = TokenSearch(text)
        search.findAll()
        steps += search.steps
        var end = text.startIndex
        return search.tokens.compactMap { token in
            guard token.range.lowerBound >= end else { return nil }
            end = token.range.upperBound
            if token.kind == privateKey {
                end = endOfKey(in: text, from: end)
                steps += end - token.range.upperBound
            }
            return token.range.lowerBound..<end
        }
    }

    /// Finds the end of a private key whose heading ``tokens(in:_:)`` has found.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - start: The end of the range that was found.
    /// - Returns: The end of the last line of the key; the end of the text when that line is missing.
    public static func endOfKey(in text: ArraySlice<UInt8>, from start: Int) -> Int {
        let ending = Array("-----END ".utf8)
        let line = text[start...].indices.first { text[$0] == ending[0] && text[$0...].starts(with: ending) }
        guard let line, let hyphens = text[(line + ending.count)...].firstIndex(of: UInt8(ascii: "-")) else {
            return text.endIndex
        }
        return text[hyphens...].firstIndex { $0 != UInt8(ascii: "-") } ?? text.endIndex
    }

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        run = (text.startIndex, nil)
        dottedRunEnd = text.startIndex
    }

    mutating func findAll() {
        guard text.count >= Self.minimumLength else { return }
        let shapes = TokenShape.all
        let starts = TokenShape.starts
        // Whether the last byte was part of a word: tokens start at the start of a word.
        var isInWord = false
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            steps += 1
            let startsWord = !isInWord || isAfterEscape(index)
            isInWord = Self.isWord(byte)
            var token: Token?
            if byte == UInt8(ascii: "-") { token = privateKey(at: index) }
            if token == nil, startsWord, isInWord {
                if byte.isDecimalDigit { token = cardNumber(at: index) }
                if token == nil, index + 2 < text.endIndex, starts.contains(byte, text[index + 1], text[index + 2]) {
                    token = self.token(at: index, shapes: shapes[Int(byte)])
                }
            }
            if let token {
                tokens.append(token)
                index = token.range.upperBound
                isInWord = token.kind != Self.privateKey
            } else {
                index += 1
            }
        }
    }

    private mutating func token(at index: Int, shapes: [TokenShape]) -> Token? {
        for shape in shapes {
            let runEnd = shape.alphabet == .dotted ? endOfDottedRun(from: index) : nil
            let range = shape.token(startingIn: text[index...], runEnd: runEnd, counting: &steps)
            if let range { return Token(kind: shape.kind, range: range) }
        }
        switch text[index] {
        case UInt8(ascii: "e"): return jsonWebToken(at: index)
        case UInt8(ascii: "B"), UInt8(ascii: "b"): return credentials(at: index)
        default: return nil
        }
    }

    /// The end of the words and dots around a byte; it is found once for all these words.
    private mutating func endOfDottedRun(from start: Int) -> Int {
        guard start >= dottedRunEnd else { return dottedRunEnd }
        dottedRunEnd = end(from: start, limit: .max) { Self.isWord($0) || $0 == UInt8(ascii: ".") }
        return dottedRunEnd
    }

    /// The number of a payment card (ISO/IEC 7812): in groups, or behind the word `card`.
    private mutating func cardNumber(at start: Int) -> Token? {
        guard let number = CardNumber(startingIn: text[start...], after: text[..<start]) else { return nil }
        steps += 64
        return Token(kind: Self.cardNumber, range: number.range)
    }

    /// A private key in its textual form (RFC 7468), with at least one line after the heading.
    private mutating func privateKey(at start: Int) -> Token? {
        let heading = "-----BEGIN "
        guard text[start...].starts(with: heading.utf8) else { return nil }
        let label = text[(start + heading.utf8.count)...].prefix(64).prefix { $0 != UInt8(ascii: "-") && $0 > 0x1F }
        steps += label.count
        guard label.count < 64 else { return nil }
        let words = label.split(separator: 0x20)
        guard words.contains(where: { $0.elementsEqual("PRIVATE".utf8) }),
            words.contains(where: { $0.elementsEqual("KEY".utf8) })
        else { return nil }
        let content = end(from: label.endIndex, limit: 24) {
            $0 == UInt8(ascii: "-") || $0 <= 0x20 || $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "%")
        }
        guard end(from: content, limit: 16, while: Self.isToken68) - content >= 8 else { return nil }
        return Token(kind: Self.privateKey, range: start..<content)
    }

    /// Returns whether the bytes before an index are an escape, in JSON or in a URL.
    private func isAfterEscape(_ index: Int) -> Bool {
        let distance = index - text.startIndex
        if distance > 1, text[index - 2] == UInt8(ascii: "\\") { return true }
        if distance > 2, text[index - 3] == UInt8(ascii: "%") { return true }
        return distance > 5 && text[index - 6] == UInt8(ascii: "\\") && text[index - 5] == UInt8(ascii: "u")
    }

    mutating func end(from start: Int, limit: Int, while isIncluded: (UInt8) -> Bool) -> Int {
        let end = limit < text.endIndex - start ? start + limit : text.endIndex
        var index = start
        while index < end, isIncluded(text[index]) { index += 1 }
        steps += index - start
        return index
    }
}

extension TokenSearch {
    /// Returns whether a byte may be part of a word: a letter, a digit, `_` or `-`, as in Base64 for URLs.
    ///
    /// - Parameter byte: The byte.
    /// - Returns: Whether it may be part of a word.
    public static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-")
    }

    /// Returns whether a text needs a search: most texts have no word that starts like a token.
    static func mayHoldToken(_ text: String) -> Bool {
        guard text.utf8.count >= minimumLength else { return false }
        var text = text
        return text.withUTF8 { bytes in unsafe !PlainText.holds(bytes) && mayHoldToken(bytes) }
    }

    private static func mayHoldToken(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let starts = TokenShape.starts
        // The two bytes before, and a bit for each of the last bytes: whether it is in a word.
        var (first, second) = (0 as UInt8, 0 as UInt8)
        var words: UInt8 = 0
        // The digits of a number that may be a card's, with single marks between them.
        var digitCount = 0
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            if byte.isDecimalDigit {
                digitCount += 1
                if digitCount == minimumLength { return true }
            } else if byte != 0x20, byte != UInt8(ascii: "-") {
                digitCount = 0
            }
            let isInWord = isWord(byte)
            // An escape may precede a token, and an escaped text may be a token.
            if !isInWord, byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\") { return true }
            // A token starts with a word, except for a private key, which is found in the middle of one too.
            let mayStart = words & 0b110 == 0b010 || byte == UInt8(ascii: "-")
            if mayStart, starts.contains(first, second, byte) { return true }
            words = words << 1 | (isInWord ? 1 : 0)
            (first, second) = (second, byte)
        }
        return false
    }
}
