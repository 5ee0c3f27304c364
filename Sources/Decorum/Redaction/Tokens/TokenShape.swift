/// The shape of the tokens of a service: a prefix, and the alphabet and number of the characters after it.
struct TokenShape: Sendable {
    enum Alphabet: Sendable {
        case alphanumeric
        case upperAndDigits
        case hex
        case lowerAndDigits
        /// Letters, digits, hyphens, underscores.
        case word
        /// A word with dots.
        case dotted

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

    init(_ kind: String, _ prefix: String, _ alphabet: Alphabet, _ length: ClosedRange<Int>) {
        self.kind = kind
        self.prefix = Array(prefix.utf8)
        self.alphabet = alphabet
        self.length = length
    }

    /// Finds a token of this shape at the start of a text; nil when absent.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - runEnd: The end of the words and dots that the text starts with; nil when not known.
    ///   - steps: The number of byte reads.
    /// - Returns: The range of the token.
    func token(startingIn text: ArraySlice<UInt8>, runEnd: Int?, counting steps: inout Int) -> Range<Int>? {
        guard text.starts(with: prefix) else { return nil }
        let content = text.startIndex + prefix.count
        // One more byte is read to detect a longer word, which is not such a token.
        let limit = min(text.endIndex, content + length.upperBound + 1)
        var end = content
        if let runEnd, alphabet == .dotted {
            end = max(content, min(runEnd, limit))
        } else {
            while end < limit, alphabet.contains(text[end]) { end += 1 }
            steps += end - content
        }
        guard length.contains(end - content) else { return nil }
        steps += 64
        return Self.isRandom(text[content..<end]) ? text.startIndex..<end : nil
    }

    /// Returns whether a token may be real: in documents, tokens are `xxxx` or end in `EXAMPLE`.
    private static func isRandom(_ content: ArraySlice<UInt8>) -> Bool {
        Set(content.prefix(64)).count >= 6 && !content.suffix(7).elementsEqual("EXAMPLE".utf8)
    }
}

extension TokenShape {
    /// A set of starts of three bytes, as 32,768 bits: the lowest five bits of each of the three bytes select one bit.
    struct Starts: Sendable {
        private var bits = [UInt64](repeating: 0, count: 512)

        fileprivate mutating func insert(_ prefix: some Sequence<UInt8>) {
            let bytes = Array(prefix.prefix(3))
            // A prefix of two bytes may be followed by any byte.
            for last in bytes.count > 2 ? bytes[2]...bytes[2] : 0...31 {
                let place = Self.place(bytes[0], bytes[1], last)
                bits[place >> 6] |= 1 << UInt64(place & 63)
            }
        }

        func contains(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Bool {
            let place = Self.place(first, second, third)
            return bits[place >> 6] >> UInt64(place & 63) & 1 == 1
        }

        private static func place(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int {
            Int(first & 31) << 10 | Int(second & 31) << 5 | Int(third & 31)
        }
    }

    /// The starts of words that may be tokens, of services or of other kinds.
    static let starts: Starts = {
        var starts = Starts()
        for shape in others + rules { starts.insert(shape.prefix) }
        for prefix in ["eyJ", "Bearer", "Basic", "-----"] { starts.insert(prefix.utf8) }
        return starts
    }()

    /// The shapes by the first byte of their prefix.
    static let all: [[TokenShape]] = {
        var shapes: [[TokenShape]] = Array(repeating: [], count: 256)
        for shape in others + rules {
            if let first = shape.prefix.first { shapes[Int(first)].append(shape) }
        }
        return shapes
    }()

    /// Shapes that the rules do not have, or have with other lengths.
    private static let others = [
        TokenShape("Anthropic key", "sk-ant-", .word, 20...200),
        TokenShape("AWS access key", "ABIA", .upperAndDigits, 16...16),
        TokenShape("AWS access key", "ACCA", .upperAndDigits, 16...16),
        TokenShape("AWS access key", "AKIA", .upperAndDigits, 16...16),
        TokenShape("AWS access key", "ASIA", .upperAndDigits, 16...16),
        TokenShape("Docker token", "dckr_pat_", .word, 20...60),
        TokenShape("GitHub token", "github_pat_", .word, 40...255),
        TokenShape("GitLab token", "glpat-", .dotted, 20...300),
        TokenShape("Google token", "ya29.", .dotted, 20...2048),
        TokenShape("Grafana token", "glsa_", .word, 40...60),
        TokenShape("Groq key", "gsk_", .alphanumeric, 40...80),
        TokenShape("Hugging Face token", "hf_", .alphanumeric, 30...60),
        TokenShape("Linear key", "lin_api_", .alphanumeric, 40...48),
        TokenShape("OpenAI key", "sk-", .alphanumeric, 32...64),
        TokenShape("OpenAI key", "sk-admin-", .word, 20...250),
        TokenShape("OpenAI key", "sk-proj-", .word, 20...250),
        TokenShape("OpenAI key", "sk-svcacct-", .word, 20...250),
        TokenShape("PyPI token", "pypi-AgEIcHlwaS5vcmc", .word, 50...1000),
        TokenShape("PyPI token", "pypi-AgENdGVzdC5weXBpLm9yZw", .word, 50...1000),
        TokenShape("Slack token", "xapp-", .word, 20...250),
        TokenShape("Slack token", "xoxa-", .word, 10...250),
        TokenShape("Slack token", "xoxb-", .word, 10...250),
        TokenShape("Slack token", "xoxe-", .word, 10...250),
        TokenShape("Slack token", "xoxo-", .word, 10...250),
        TokenShape("Slack token", "xoxp-", .word, 10...250),
        TokenShape("Slack token", "xoxr-", .word, 10...250),
        TokenShape("Slack token", "xoxs-", .word, 10...250),
        TokenShape("Stripe key", "rk_live_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "rk_test_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "sk_live_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "sk_test_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "whsec_", .alphanumeric, 24...250),
        TokenShape("Twilio key", "SK", .hex, 32...32),
        TokenShape("Vault token", "hvs.", .word, 24...250),
    ]
}
