/// Finds tokens by their shape, in one pass.
///
/// Each byte is read a bounded number of times, whatever precedes it, so the work is proportional to the length of the text.
package struct TokenSearch: Sendable {
    package struct Token: Sendable {
        /// The name of the kind, as used in a sentence: `GitHub token`.
        package let kind: String
        /// The bytes of the token; of a private key, the bytes up to the first line of its content.
        package let range: Range<Int>
    }

    // The kinds of the tokens of no service.
    package static let bearerToken = "Bearer token"
    package static let basicCredentials = "Basic credentials"
    package static let jsonWebToken = "JSON Web Token"
    package static let cardNumber = "card number"
    package static let privateKey = "private key"

    /// The length of the shortest token.
    static let minimumLength = 12

    private let bytes: [UInt8]
    private let text: ArraySlice<UInt8>
    private var tokens: [Token] = []
    /// The end of the credentials that were scanned last, and the position of their last digit.
    private var run: (end: Int, lastDigit: Int?)
    /// The end of the words and dots that were scanned last.
    private var dottedRunEnd: Int

    /// Finds the tokens in a text, or in a part of it, from the left; they do not overlap.
    package static func tokens(in bytes: [UInt8], _ range: Range<Int>? = nil) -> [Token] {
        TokenSearch(bytes, range ?? bytes.indices).tokens
    }

    /// Finds the ranges to replace so that no token remains, from the left.
    package static func secrets(in bytes: [UInt8], _ range: Range<Int>? = nil) -> [Range<Int>] {
        let text = bytes[range ?? bytes.indices]
        var end = text.startIndex
        return tokens(in: bytes, range).compactMap { token in
            guard token.range.lowerBound >= end else { return nil }
            end = token.kind == privateKey ? endOfKey(in: text, from: token.range.upperBound) : token.range.upperBound
            return token.range.lowerBound..<end
        }
    }

    /// The end of the last line of a private key whose heading ends at an index; the end of the text if it has no such line.
    package static func endOfKey(in text: ArraySlice<UInt8>, from start: Int) -> Int {
        let ending = Array("-----END ".utf8)
        let line = text[start...].indices.first { text[$0] == ending[0] && text[$0...].starts(with: ending) }
        guard let line, let hyphens = text[(line + ending.count)...].firstIndex(of: UInt8(ascii: "-")) else {
            return text.endIndex
        }
        return text[hyphens...].firstIndex { $0 != UInt8(ascii: "-") } ?? text.endIndex
    }

    private init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        text = bytes[range]
        run = (range.lowerBound, nil)
        dottedRunEnd = range.lowerBound
        guard text.count >= Self.minimumLength else { return }
        let (shapes, starts) = (TokenShape.all, TokenShape.starts)
        // Whether the last byte was part of a word: tokens start at the start of a word.
        var isInWord = false
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            let startsWord = !isInWord || isAfterEscape(index)
            isInWord = byte.isInWord
            var token = byte == UInt8(ascii: "-") ? privateKey(at: index) : nil
            if token == nil, startsWord, isInWord {
                if byte.isDigit { token = cardNumber(at: index) }
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
            if shape.alphabet == .dotted, index >= dottedRunEnd {
                dottedRunEnd = text[index...].prefix { $0.isInWord || $0 == UInt8(ascii: ".") }.endIndex
            }
            if let range = shape.token(startingIn: text[index...], runEnd: dottedRunEnd) {
                return Token(kind: shape.kind, range: range)
            }
        }
        switch text[index] {
        case UInt8(ascii: "e"): return jsonWebToken(at: index)
        case UInt8(ascii: "B"), UInt8(ascii: "b"): return credentials(at: index)
        default: return nil
        }
    }

    /// The number of a payment card (ISO/IEC 7812): in groups, or behind the word `card` or `pan`, since one number in ten
    /// has a right check digit by chance.
    private func cardNumber(at start: Int) -> Token? {
        guard (0x32...0x36).contains(text[start]) else { return nil }
        var (digits, groups, separator, end) = ([] as [Int], [0], nil as UInt8?, start)
        for (index, byte) in zip(start..., text[start...].prefix(20)) {
            if byte.isDigit {
                digits.append(Int(byte) - 0x30)
                groups[groups.count - 1] += 1
                end = index + 1
            } else if byte == 0x20 || byte == UInt8(ascii: "-"), groups[groups.count - 1] >= 4,
                separator == nil || separator == byte, digits.count < 15
            {
                separator = byte
                groups.append(0)
            } else {
                break
            }
        }
        if groups.last == 0 { groups.removeLast() }
        if end < text.endIndex, text[end].isInWord { return nil }
        if groups != [4, 4, 4, 4], groups != [4, 6, 5] {
            guard groups == [15] || groups == [16] else { return nil }
            // The word may stand in the name of a JSON string that the text is.
            let words = bytes[..<start].suffix(32).map { $0 | 0x20 }
            guard ["card", "pan"].contains(where: { words.firstRange(of: $0.utf8) != nil }) else { return nil }
        }
        let issuer = digits.prefix(4).reduce(0) { $0 * 10 + $1 }
        let issuers =
            digits.count == 15
            ? [3400...3499, 3700...3799]
            : [4000...4999, 5100...5599, 2221...2720, 6011...6011, 6440...6599, 3528...3589]
        // The formula of Luhn (ISO/IEC 7812-1, annex B).
        let sum = digits.reversed().enumerated().reduce(0) { sum, digit in
            let value = digit.element * (digit.offset.isMultiple(of: 2) ? 1 : 2)
            return sum + (value > 9 ? value - 9 : value)
        }
        let isCard = sum.isMultiple(of: 10) && issuers.contains { $0 ~= issuer }
        return isCard ? Token(kind: Self.cardNumber, range: start..<end) : nil
    }

    /// A private key in its textual form (RFC 7468), with at least one line after the heading.
    private func privateKey(at start: Int) -> Token? {
        let heading = "-----BEGIN "
        guard text[start...].starts(with: heading.utf8) else { return nil }
        let label = text[(start + heading.utf8.count)...].prefix(64).prefix { $0 != UInt8(ascii: "-") && $0 > 0x1F }
        let words = label.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
        guard label.count < 64, words.contains("PRIVATE"), words.contains("KEY") else { return nil }
        let content = text[label.endIndex...].prefix(24).prefix { $0 <= 0x20 || "-\\%".utf8.contains($0) }.endIndex
        guard text[content...].prefix(16).prefix(while: \.isInToken68).count >= 8 else { return nil }
        return Token(kind: Self.privateKey, range: start..<content)
    }

    /// A token of three or more parts, whose first part is a JSON object that names an algorithm (RFC 7519).
    private func jsonWebToken(at start: Int) -> Token? {
        guard text[start...].starts(with: "eyJ".utf8) else { return nil }
        let head = text[start...].prefix(4096).prefix(while: \.isInWord).endIndex
        guard let payload = part(after: head), let signature = part(after: payload.upperBound),
            // The second part is empty when the content is detached or the key is agreed directly.
            payload.count > 3 || payload.isEmpty && !signature.isEmpty,
            let decoded = Base64Text.decode(text[start..<head]), JSONSecrets(decoded, rules: Self.algorithm).hasValue
        else { return nil }
        var end = signature.upperBound
        // An encrypted token has five parts (RFC 7516).
        for _ in 0..<2 {
            guard let part = part(after: end), !part.isEmpty else { break }
            end = part.upperBound
        }
        return Token(kind: Self.jsonWebToken, range: start..<end)
    }

    /// Finds the member that the head of each JSON Web Token has (RFC 7515, section 4.1.1).
    private static let algorithm = {
        var rules = SecretRules()
        rules.json = JSONMatcher([JSONPath("alg")])
        return rules
    }()

    private func part(after dot: Int) -> Range<Int>? {
        guard dot < text.endIndex, text[dot] == UInt8(ascii: ".") else { return nil }
        return text[(dot + 1)...].prefix(while: \.isInWord).indices
    }

    /// Credentials after the name of their scheme (RFC 6750 and RFC 7617).
    private mutating func credentials(at start: Int) -> Token? {
        let word = text[start...].prefix(6).map { $0 | 0x20 }
        let isBearer = word.elementsEqual("bearer".utf8)
        guard isBearer || word.starts(with: "basic".utf8) else { return nil }
        let scheme = start + (isBearer ? 6 : 5)
        var content = text[scheme...].prefix(8).prefix { $0 == 0x20 || $0 == UInt8(ascii: "+") }.endIndex
        if content == scheme, text[scheme...].starts(with: "%20".utf8) { content += 3 }
        guard content > scheme, content < text.endIndex, text[content].isInToken68 else { return nil }
        if content >= run.end {
            // The end is found once for all names of schemes inside the credentials.
            let found = text[content...].prefix(while: \.isInToken68)
            run = (found.endIndex, found.lastIndex(where: \.isDigit))
        }
        let range = content..<run.end
        guard isBearer else {
            guard range.count <= 1024,
                let pair = Base64Text.decode(text[range], where: { $0 >= 0x20 && $0 != 0x7F }), pair.count > 2,
                pair.contains(UInt8(ascii: ":")), String(validating: pair, as: UTF8.self) != nil
            else { return nil }
            return Token(kind: Self.basicCredentials, range: range)
        }
        // A word that consists only of letters is prose, and `key="value"` is a challenge or an assignment.
        guard range.count >= 16, let digit = run.lastDigit, digit >= range.lowerBound,
            !text[(range.upperBound - 1)...].starts(with: "=\"".utf8), text[range.lowerBound] != UInt8(ascii: "/"),
            Set(text[range].prefix(64)).count >= 6
        else { return nil }
        return Token(kind: Self.bearerToken, range: range)
    }

    /// Whether the bytes before an index are an escape, in JSON or in a URL.
    private func isAfterEscape(_ index: Int) -> Bool {
        let distance = index - text.startIndex
        if distance > 1, text[index - 2] == UInt8(ascii: "\\") { return true }
        if distance > 2, text[index - 3] == UInt8(ascii: "%") { return true }
        return distance > 5 && text[index - 6] == UInt8(ascii: "\\") && text[index - 5] == UInt8(ascii: "u")
    }
}

extension TokenSearch {
    /// Whether a text needs a search: nearly all values of fields have no word that starts like a token.
    package static func mayHoldToken(_ text: String) -> Bool { text.utf8.count >= minimumLength && !isPlain(text) }

    /// Whether a text holds neither a token nor JSON with a string, as one fast pass shows.
    package static func isPlain(_ text: String) -> Bool {
        let starts = TokenShape.starts
        return unsafe marks.withUnsafeBufferPointer { marks in
            // The bytes are read only during the call.
            unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
                var (index, mark, marked) = (0, 0 as UInt8, 0 as UInt8)
                while index < bytes.count {
                    // Only the first byte of a word may start a token.
                    if mark & Mark.word == 0, bytes.count &- index > 2,
                        unsafe marks[Int(bytes[index])] & Mark.word != 0,
                        unsafe starts.contains(bytes[index], bytes[index &+ 1], bytes[index &+ 2])
                    {
                        return false
                    }
                    repeat {
                        mark = unsafe marks[Int(bytes[index])]
                        marked |= mark
                        index &+= 1
                    } while mark & Mark.stop == 0 && index < bytes.count
                    if mark & Mark.special != 0 {
                        guard unsafe bytes[index - 1] == UInt8(ascii: "-") else { return false }
                        // A private key begins with hyphens, which may follow a word.
                        if index > 2, unsafe starts.contains(bytes[index - 3], bytes[index - 2], bytes[index - 1]) {
                            return false
                        }
                    }
                }
                // Fewer digits are no number of a card.
                return unsafe marked & Mark.digit == 0 || bytes.count(where: \.isDigit) < minimumLength
            } ?? false
        }
    }

    private enum Mark {
        static let digit: UInt8 = 1
        static let word: UInt8 = 2
        /// The start of an escape, a quotation mark, or a hyphen.
        static let special: UInt8 = 4
        /// A byte that is special or not part of a word.
        static let stop: UInt8 = 8
    }

    /// The marks of each byte.
    private static let marks: [UInt8] = (0...UInt8.max).map { byte in
        (byte.isDigit ? Mark.digit : 0) | (byte.isInWord ? Mark.word : Mark.stop)
            | ("-%\\\"".utf8.contains(byte) ? Mark.special | Mark.stop : 0)
    }
}

/// The shape of the tokens of a service: a prefix, and the alphabet and number of the characters after it.
struct TokenShape: Sendable {
    enum Alphabet: Sendable {
        // A word has letters, digits, hyphens and underscores; `dotted` stands for a word with dots.
        case alphanumeric, upperAndDigits, hex, lowerAndDigits, word, dotted

        func contains(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39: true
            case 0x41...0x5A: self != .hex && self != .lowerAndDigits
            case 0x61...0x7A: self == .hex ? byte <= 0x66 : self != .upperAndDigits
            case UInt8(ascii: "-"), UInt8(ascii: "_"): self == .word || self == .dotted
            case UInt8(ascii: "."): self == .dotted
            default: false
            }
        }
    }

    /// The name of the token's kind, as used in a sentence.
    let kind: String
    let prefix: [UInt8]
    let alphabet: Alphabet
    let length: ClosedRange<Int>

    /// The shapes of tokens that differ in their prefix only.
    static func shapes(
        _ kind: String, _ alphabet: Alphabet, _ length: ClosedRange<Int>, _ prefixes: String...
    ) -> [TokenShape] {
        prefixes.map { TokenShape(kind: kind, prefix: Array($0.utf8), alphabet: alphabet, length: length) }
    }

    /// The token of this shape at the start of a text, whose first run of words and dots ends at `runEnd`; nil if absent.
    func token(startingIn text: ArraySlice<UInt8>, runEnd: Int) -> Range<Int>? {
        guard text.starts(with: prefix) else { return nil }
        let content = text.startIndex + prefix.count
        // One more byte is read to detect a longer word, which is not such a token.
        let limit = min(text.endIndex, content + length.upperBound + 1)
        var end = alphabet == .dotted ? max(content, min(runEnd, limit)) : content
        while alphabet != .dotted, end < limit, alphabet.contains(text[end]) { end += 1 }
        let found = text[content..<end]
        // In documents, tokens are `xxxx` or end in `EXAMPLE`.
        guard length.contains(found.count), Set(found.prefix(64)).count >= 6,
            !found.suffix(7).elementsEqual("EXAMPLE".utf8)
        else { return nil }
        return text.startIndex..<end
    }

    /// A set of starts of three bytes, as 32,768 bits: the lowest five bits of each of the three bytes select one bit.
    struct Starts: Sendable {
        private var bits = [UInt64](repeating: 0, count: 512)

        fileprivate init(_ prefixes: [[UInt8]]) {
            for prefix in prefixes {
                // A prefix of two bytes may be followed by any byte.
                for last in prefix.count > 2 ? prefix[2]...prefix[2] : 0...31 {
                    let place = Self.place(prefix[0], prefix[1], last)
                    bits[place >> 6] |= 1 << UInt64(place & 63)
                }
            }
        }

        @inline(__always) func contains(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Bool {
            let place = Self.place(first, second, third)
            return bits[place >> 6] >> UInt64(place & 63) & 1 == 1
        }

        private static func place(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int {
            Int(first & 31) << 10 | Int(second & 31) << 5 | Int(third & 31)
        }
    }

    /// The starts of words that may be tokens, of services or of other kinds.
    static let starts = Starts(
        all.joined().map(\.prefix) + ["eyJ", "Bearer", "Basic", "-----"].map { Array($0.utf8) })

    /// The shapes by the first byte of their prefix.
    static let all = (others + rules).joined().reduce(into: Array(repeating: [] as [TokenShape], count: 256)) {
        $0[Int($1.prefix[0])].append($1)
    }

    /// Shapes that the rules do not have, or have with other lengths.
    private static let others: [[TokenShape]] = [
        shapes("Anthropic key", .word, 20...200, "sk-ant-"),
        shapes("AWS access key", .upperAndDigits, 16...16, "ABIA", "ACCA", "AKIA", "ASIA"),
        shapes("Docker token", .word, 20...60, "dckr_pat_"),
        shapes("GitHub token", .word, 40...255, "github_pat_"),
        shapes("GitLab token", .dotted, 20...300, "glpat-"),
        shapes("Google token", .dotted, 20...2048, "ya29."),
        shapes("Grafana token", .word, 40...60, "glsa_"),
        shapes("Groq key", .alphanumeric, 40...80, "gsk_"),
        shapes("Hugging Face token", .alphanumeric, 30...60, "hf_"),
        shapes("Linear key", .alphanumeric, 40...48, "lin_api_"),
        shapes("OpenAI key", .alphanumeric, 32...64, "sk-"),
        shapes("OpenAI key", .word, 20...250, "sk-admin-", "sk-proj-", "sk-svcacct-"),
        shapes("PyPI token", .word, 50...1000, "pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"),
        shapes("Slack token", .word, 20...250, "xapp-"),
        shapes("Slack token", .word, 10...250, "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
        shapes("Stripe key", .alphanumeric, 16...250, "rk_live_", "rk_test_", "sk_live_", "sk_test_"),
        shapes("Stripe key", .alphanumeric, 24...250, "whsec_"),
        shapes("Twilio key", .hex, 32...32, "SK"),
        shapes("Vault token", .word, 24...250, "hvs."),
    ]
}
