import Decorum

/// Replaces the secrets in JSON by pseudonyms; each value keeps its type.
///
/// A secret string, and each string in a secret object or array, is replaced by a pseudonym. A secret number becomes 0,
/// since a pseudonym is not a number; a short number is only a count and stays. In text that is not complete JSON,
/// ``LooseJSON`` searches the part after the point where the grammar breaks.
struct JSONNaming {
    struct Result {
        let bytes: [UInt8]
        let foundSecret: Bool
        let isWhole: Bool
    }

    private let bytes: [UInt8]
    private let redaction: Redaction
    private let pseudonyms: Pseudonyms
    private let nesting: Int
    private var output: [UInt8] = []
    private var copied = 0

    init(_ bytes: [UInt8], redaction: Redaction, pseudonyms: Pseudonyms, nesting: Int = Redaction.nestingLimit) {
        self.bytes = bytes
        self.redaction = redaction
        self.pseudonyms = pseudonyms
        self.nesting = nesting
    }

    consuming func run() -> Result {
        let secrets = JSONSecrets(bytes, redaction: redaction)
        for place in secrets.places {
            switch (place.kind, place.secrecy) {
            case (.string, nil): nameSecrets(inString: place.range, named: place.name)
            case (.string, _): nameString(place.range, named: place.name)
            case (.scalar, .any): replaceNumber(place.range)
            default: break
            }
        }
        guard let fault = secrets.fault else {
            return Result(
                bytes: copied > 0 ? output + bytes[copied...] : bytes, foundSecret: copied > 0, isWhole: true)
        }
        let rest = LooseJSON(bytes[fault.token...], redaction: redaction, pseudonyms: pseudonyms)
            .run(valueName: fault.secretName.map { bytes[$0] })
        let foundSecret = copied > 0 || rest != nil
        return Result(
            bytes: foundSecret ? output + bytes[copied..<fault.token] + (rest ?? bytes[fault.token...]) : bytes,
            foundSecret: foundSecret, isWhole: false)
    }

    private mutating func nameString(_ range: Range<Int>, named name: Range<Int>) {
        let scheme = AuthorizationScheme.length(in: bytes[range])
        let secret = range.lowerBound + scheme..<range.upperBound
        let text = redaction.pseudonym(of: JSONText.unescape(bytes[secret]), named: bytes[name], in: pseudonyms)
        if let text, !text.elementsEqual(bytes[secret]) { replace(secret, with: text) }
    }

    private mutating func replaceNumber(_ range: Range<Int>) {
        guard LooseJSON.isSecretNumber(bytes[range]) else { return }
        replace(range, with: [UInt8(ascii: "0")])
    }

    /// Replaces the secrets in the URLs or the JSON of a string that is not secret as a whole.
    private mutating func nameSecrets(inString range: Range<Int>, named name: Range<Int>) {
        guard JSONText.mayHoldURLOrJSON(bytes[range]) else { return }
        let text = JSONText.unescape(bytes[range])
        if JSONText.isLikely(text) {
            guard nesting > 0 else {
                nameString(range, named: name)
                return
            }
            let inner = JSONNaming(text, redaction: redaction, pseudonyms: pseudonyms, nesting: nesting - 1).run()
            if inner.foundSecret {
                replace(range, with: JSONText.escape(inner.bytes))
                return
            }
        }
        var search = SecretSearch(text, redaction: redaction, nesting: nesting, findsTokens: false)
        search.findInLinks()
        if let named = search.named(in: pseudonyms, redaction), named != text {
            replace(range, with: JSONText.escape(named))
        }
    }

    private mutating func replace(_ range: Range<Int>, with replacement: [UInt8]) {
        output += bytes[copied..<range.lowerBound]
        output += replacement
        copied = range.upperBound
    }
}
