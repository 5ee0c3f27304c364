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

    private let text: ArraySlice<UInt8>
    private var tokens: [Token] = []
    /// The end of the credentials that were scanned last, and the position of their last digit.
    private var run: (end: Int, lastDigit: Int?)
    /// The end of the words and dots that were scanned last.
    private var dottedRunEnd: Int
    /// The number of byte reads.
    private(set) var steps = 0

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

    /// A token of three or more parts, whose first part is a JSON object that names an algorithm (RFC 7519).
    private mutating func jsonWebToken(at start: Int) -> Token? {
        guard text[start...].starts(with: "eyJ".utf8) else { return nil }
        let head = end(from: start, limit: 4096, while: Self.isWord)
        guard let payload = part(after: head), let signature = part(after: payload.upperBound),
            // The second part is empty when the content is detached or the key is agreed directly.
            payload.count > 3 || payload.isEmpty && !signature.isEmpty
        else { return nil }
        steps += head - start
        guard let decoded = Base64Text.decode(text[start..<head]), Self.namesAlgorithm(decoded) else { return nil }
        var end = signature.upperBound
        // An encrypted token has five parts (RFC 7516).
        for _ in 0..<2 {
            guard let part = part(after: end), !part.isEmpty else { break }
            end = part.upperBound
        }
        return Token(kind: Self.jsonWebToken, range: start..<end)
    }

    private mutating func part(after dot: Int) -> Range<Int>? {
        guard dot < text.endIndex, text[dot] == UInt8(ascii: ".") else { return nil }
        return dot + 1..<end(from: dot + 1, limit: .max, while: Self.isWord)
    }

    /// Credentials after the name of their scheme (RFC 6750 and RFC 7617).
    private mutating func credentials(at start: Int) -> Token? {
        let word = text[start...].prefix(6).map { $0 | 0x20 }
        let isBearer = word.elementsEqual("bearer".utf8)
        guard isBearer || word.starts(with: "basic".utf8) else { return nil }
        let scheme = start + (isBearer ? 6 : 5)
        var content = end(from: scheme, limit: 8) { $0 == 0x20 || $0 == UInt8(ascii: "+") }
        if content == scheme, text[scheme...].starts(with: "%20".utf8) { content += 3 }
        guard content > scheme, content < text.endIndex, Self.isToken68(text[content]) else { return nil }
        let range = content..<endOfToken68(from: content)
        if isBearer { return isBearerToken(range) ? Token(kind: Self.bearerToken, range: range) : nil }
        return isBasicPair(range) ? Token(kind: Self.basicCredentials, range: range) : nil
    }

    private mutating func isBearerToken(_ range: Range<Int>) -> Bool {
        guard range.count >= 16, let digit = run.lastDigit, digit >= range.lowerBound else { return false }
        // A word that consists only of letters is prose, and `key="value"` is a challenge or an assignment.
        let isAssignment =
            text[range.upperBound - 1] == UInt8(ascii: "=") && range.upperBound < text.endIndex
            && text[range.upperBound] == UInt8(ascii: "\"")
        steps += min(64, range.count)
        return !isAssignment && text[range.lowerBound] != UInt8(ascii: "/") && Set(text[range].prefix(64)).count >= 6
    }

    private mutating func isBasicPair(_ range: Range<Int>) -> Bool {
        guard range.count <= 1024 else { return false }
        var decoded = 0
        let pair = Base64Text.decode(text[range]) { byte in
            decoded += 1
            return byte >= 0x20 && byte != 0x7F
        }
        steps += decoded
        guard let pair else { return false }
        return pair.count > 2 && pair.contains(UInt8(ascii: ":")) && String(validating: pair, as: UTF8.self) != nil
    }

    /// The end of the token that contains a byte; it is found once for all scheme names inside the token.
    private mutating func endOfToken68(from start: Int) -> Int {
        guard start >= run.end else { return run.end }
        let end = end(from: start, limit: .max, while: Self.isToken68)
        run = (end, text[start..<end].lastIndex { (0x30...0x39).contains($0) })
        steps += end - start
        return end
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

    private mutating func end(from start: Int, limit: Int, while isIncluded: (UInt8) -> Bool) -> Int {
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

    private static func isToken68(_ byte: UInt8) -> Bool { isWord(byte) || ".~+/=".utf8.contains(byte) }

    /// Finds the member that the head of each JSON Web Token has (RFC 7515, section 4.1.1).
    private static let algorithm = Redaction(fields: [], queryItems: [], jsonPaths: ["alg"], formNames: [])

    private static func namesAlgorithm(_ json: [UInt8]) -> Bool {
        let head = JSONSecrets(json, redaction: algorithm)
        return head.fault == nil && head.places.contains { $0.kind == .value }
    }

    /// Returns whether a text needs a search: most texts have no word that starts like a token.
    static func mayHoldToken(_ text: String) -> Bool {
        guard text.utf8.count >= minimumLength else { return false }
        let starts = TokenShape.starts
        // The three bytes before the current one; a token starts after a byte that is not in a word.
        var before = (0 as UInt8, 0 as UInt8, 0 as UInt8)
        return !text.allUTF8 { byte in
            // An escape may precede a token, and an escaped text may be a token.
            if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\") { return false }
            let isStart = (!isWord(before.0) || byte == UInt8(ascii: "-")) && starts.contains(before.1, before.2, byte)
            before = (before.1, before.2, byte)
            return !isStart
        }
    }
}
