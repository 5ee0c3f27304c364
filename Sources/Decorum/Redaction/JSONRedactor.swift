/// Masks the secrets in JSON: values under secret names, and secrets in the URLs, JSON and tokens of other strings.
///
/// If a token breaks the grammar, the rest is replaced, from that token or from the start of the secret value around
/// it: text that cannot be parsed is not shown.
struct JSONRedactor {
    struct Result {
        let bytes: [UInt8]
        /// Whether a secret was replaced, not counting the rest of a broken text.
        let foundSecret: Bool
        /// Whether the whole text was parsed; otherwise its end was replaced.
        let isWhole: Bool
        /// The number of byte reads, which is proportional to the length.
        let steps: Int
    }

    private let redaction: Redaction
    private let nesting: Int
    private let bytes: [UInt8]
    private let placeholder: [UInt8]
    private let masksTokens: Bool
    private var output: [UInt8] = []
    private var copied = 0
    private var steps: Int

    init(_ bytes: [UInt8], redaction: Redaction, nesting: Int = Redaction.nestingLimit, masksTokens: Bool = true) {
        self.bytes = bytes
        self.redaction = redaction
        self.nesting = nesting
        self.masksTokens = masksTokens && redaction.masksTokens
        placeholder = JSONText.escape(redaction.placeholder.utf8)
        // Each byte is part of one token; the bytes of a string are read a second time.
        steps = bytes.count
    }

    consuming func run() -> Result {
        let secrets = JSONSecrets(bytes, redaction: redaction)
        for place in secrets.places {
            switch place.kind {
            case .name: replaceTokens(in: place.range)
            case .string where place.secrecy == nil: redactString(place.range)
            case .value: replace(place.range, with: [UInt8(ascii: "\"")] + placeholder + [UInt8(ascii: "\"")])
            case .string, .scalar: break
            }
        }
        let foundSecret = copied > 0
        guard let fault = secrets.fault else {
            return Result(
                bytes: foundSecret ? output + bytes[copied...] : bytes, foundSecret: foundSecret, isWhole: true,
                steps: steps)
        }
        let end = max(copied, fault.secretStart ?? fault.token)
        return Result(
            bytes: output + bytes[copied..<end] + redaction.placeholder.utf8, foundSecret: foundSecret, isWhole: false,
            steps: steps)
    }

    /// Redacts the URLs or the JSON in a string.
    private mutating func redactString(_ range: Range<Int>) {
        steps += range.count
        let isCard = CardNumber(startingIn: bytes[range], after: bytes[..<range.lowerBound])?.range == range
        if masksTokens, isCard || EncodedTokens.isEncodedToken(bytes[range], redaction, counting: &steps) {
            replace(range, with: placeholder)
            return
        }
        guard JSONText.mayHoldURLOrJSON(bytes[range]) || bytes[range].contains(where: Self.assigns) else {
            replaceTokens(in: range)
            return
        }
        let text = JSONText.unescape(bytes[range])
        if JSONText.isLikely(text) {
            guard nesting > 0 else {
                if !redaction.jsonMatcher.isEmpty { replace(range, with: placeholder) }
                return
            }
            let inner = JSONRedactor(text, redaction: redaction, nesting: nesting - 1, masksTokens: masksTokens).run()
            steps += inner.steps
            if inner.foundSecret {
                replace(range, with: JSONText.escape(inner.bytes))
                return
            }
        }
        var secrets = SecretSearch(text, redaction: redaction, nesting: nesting, findsTokens: masksTokens)
        secrets.findInText()
        secrets.findAssignments()
        secrets.findTokens()
        steps += secrets.steps
        if let replaced = secrets.replaced(), replaced != text { replace(range, with: JSONText.escape(replaced)) }
    }

    private static func assigns(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":") }

    /// Replaces the tokens in a name or a string, whose characters need no escapes.
    private mutating func replaceTokens(in range: Range<Int>) {
        guard masksTokens else { return }
        for token in TokenSearch.secrets(in: bytes, range, counting: &steps) { replace(token, with: placeholder) }
    }

    private mutating func replace(_ range: Range<Int>, with replacement: [UInt8]) {
        output += bytes[copied..<range.lowerBound]
        output += replacement
        copied = range.upperBound
    }
}
