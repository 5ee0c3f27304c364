/// What the tokens of a service look like: a prefix, and how many of which characters follow.
struct TokenShape: Sendable {
    enum Alphabet: Sendable {
        case alphanumeric
        case upperAndDigits
        case hex
        /// Letters, digits, hyphens, underscores.
        case word
        /// A word with dots.
        case dotted

        func contains(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39: true
            case 0x41...0x5A: self != .hex
            case 0x61...0x7A: self == .hex ? byte <= 0x66 : self != .upperAndDigits
            case UInt8(ascii: "-"), UInt8(ascii: "_"): self == .word || self == .dotted
            case UInt8(ascii: "."): self == .dotted
            default: false
            }
        }
    }

    let kind: SecretKind
    let prefix: [UInt8]
    let alphabet: Alphabet
    let length: ClosedRange<Int>

    init(
        _ kind: SecretKind, _ prefix: String, _ alphabet: Alphabet, _ length: ClosedRange<Int>
    ) {
        self.kind = kind
        self.prefix = Array(prefix.utf8)
        self.alphabet = alphabet
        self.length = length
    }

    init(_ kind: String, _ prefix: String, _ alphabet: Alphabet, _ length: ClosedRange<Int>) {
        self.init(SecretKind(kind), prefix, alphabet, length)
    }

    /// The token that starts at an index; nil where there is none of this shape.
    func token(in bytes: [UInt8], at start: Int) -> Range<Int>? {
        guard bytes[start...].starts(with: prefix) else { return nil }
        let content = start + prefix.count
        // One byte more tells a longer word, which is something else.
        let limit = min(bytes.count, content + length.upperBound + 1)
        var end = content
        while end < limit, alphabet.contains(bytes[end]) { end += 1 }
        guard length.contains(end - content), Self.isRandom(bytes[content..<end]) else { return nil }
        return start..<end
    }

    /// Tells whether a token may be real: in documents they are `xxxx` or end in `EXAMPLE`.
    private static func isRandom(_ content: ArraySlice<UInt8>) -> Bool {
        Set(content).count >= 6 && !content.suffix(7).elementsEqual("EXAMPLE".utf8)
    }
}

extension TokenShape {
    /// The shapes by the first byte of their prefix.
    static let all: [[TokenShape]] = {
        var shapes: [[TokenShape]] = Array(repeating: [], count: 256)
        for shape in services + workshops {
            if let first = shape.prefix.first { shapes[Int(first)].append(shape) }
        }
        return shapes
    }()

    private static let services = [
        TokenShape(.awsAccessKey, "AKIA", .upperAndDigits, 16...16),
        TokenShape(.awsAccessKey, "ASIA", .upperAndDigits, 16...16),
        TokenShape(.awsAccessKey, "ABIA", .upperAndDigits, 16...16),
        TokenShape(.awsAccessKey, "ACCA", .upperAndDigits, 16...16),
        TokenShape("Anthropic key", "sk-ant-", .word, 20...200),
        TokenShape("DigitalOcean token", "dop_v1_", .hex, 64...64),
        TokenShape("DigitalOcean token", "doo_v1_", .hex, 64...64),
        TokenShape("Google API key", "AIza", .word, 35...35),
        TokenShape("Google client secret", "GOCSPX-", .word, 28...28),
        TokenShape("Google token", "ya29.", .dotted, 20...2048),
        TokenShape("Groq key", "gsk_", .alphanumeric, 40...80),
        TokenShape("Hugging Face token", "hf_", .alphanumeric, 30...60),
        TokenShape("Mailgun key", "key-", .hex, 32...32),
        TokenShape("OpenAI key", "sk-proj-", .word, 20...250),
        TokenShape("OpenAI key", "sk-svcacct-", .word, 20...250),
        TokenShape("OpenAI key", "sk-admin-", .word, 20...250),
        TokenShape("OpenAI key", "sk-", .alphanumeric, 32...64),
        TokenShape("OpenRouter key", "sk-or-v1-", .hex, 64...64),
        TokenShape("SendGrid key", "SG.", .dotted, 60...72),
        TokenShape("Shopify token", "shpat_", .hex, 32...32),
        TokenShape("Shopify token", "shpss_", .hex, 32...32),
        TokenShape("Slack token", "xoxa-", .word, 10...250),
        TokenShape("Slack token", "xoxb-", .word, 10...250),
        TokenShape("Slack token", "xoxe-", .word, 10...250),
        TokenShape("Slack token", "xoxo-", .word, 10...250),
        TokenShape("Slack token", "xoxp-", .word, 10...250),
        TokenShape("Slack token", "xoxr-", .word, 10...250),
        TokenShape("Slack token", "xoxs-", .word, 10...250),
        TokenShape("Slack token", "xapp-", .word, 20...250),
        TokenShape("Stripe key", "sk_live_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "rk_live_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "sk_test_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "rk_test_", .alphanumeric, 16...250),
        TokenShape("Stripe key", "whsec_", .alphanumeric, 24...250),
        TokenShape("Twilio key", "SK", .hex, 32...32),
    ]

    private static let workshops = [
        TokenShape("Docker token", "dckr_pat_", .word, 20...60),
        TokenShape(.gitHubToken, "ghp_", .alphanumeric, 36...255),
        TokenShape(.gitHubToken, "gho_", .alphanumeric, 36...255),
        TokenShape(.gitHubToken, "ghu_", .alphanumeric, 36...255),
        TokenShape(.gitHubToken, "ghs_", .alphanumeric, 36...255),
        TokenShape(.gitHubToken, "ghr_", .alphanumeric, 36...255),
        TokenShape(.gitHubToken, "github_pat_", .word, 40...255),
        TokenShape("GitLab token", "glpat-", .dotted, 20...300),
        TokenShape("Grafana token", "glsa_", .word, 40...60),
        TokenShape("Linear key", "lin_api_", .alphanumeric, 40...48),
        TokenShape("npm token", "npm_", .alphanumeric, 36...36),
        TokenShape("PyPI token", "pypi-AgEIcHlwaS5vcmc", .word, 50...1000),
        TokenShape("PyPI token", "pypi-AgENdGVzdC5weXBpLm9yZw", .word, 50...1000),
        TokenShape("RubyGems key", "rubygems_", .hex, 48...48),
        TokenShape("Vault token", "hvs.", .word, 24...250),
    ]
}
