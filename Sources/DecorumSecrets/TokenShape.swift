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

        func contains(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Bool {
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
