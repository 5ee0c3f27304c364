import Decorum

/// Replaces the secrets in JSON; each value keeps its type.
///
/// A secret string, each string in a secret object or array, and each number there is replaced by the strategy. In text
/// that is not complete JSON, ``LooseJSON`` searches the part after the point where the grammar breaks.
struct JSONRewriting {
    struct Result {
        let bytes: [UInt8]
        let foundSecret: Bool
        let isWhole: Bool
    }

    private let bytes: [UInt8]
    private let rewriting: SecretRewriting
    private let nesting: Int
    /// The values that the rules leave, from left to right.
    private let left: [Range<Int>]
    private var paths: TextPlaces?
    private var output: [UInt8] = []
    private var copied = 0

    init(_ bytes: [UInt8], by rewriting: SecretRewriting, nesting: Int = Redaction.nestingLimit) {
        self.bytes = bytes
        self.rewriting = rewriting
        self.nesting = nesting
        left = rewriting.allowed.json.map { Self.values(in: bytes, at: $0) } ?? []
    }

    private static func values(in bytes: [UInt8], at places: Redaction) -> [Range<Int>] {
        let search = JSONSecrets(bytes, redaction: places)
        var values = search.places.filter { $0.kind == .value }.map(\.range)
        // A text may be cut within a value.
        if let start = search.fault?.secretStart { values.append(start..<bytes.count) }
        return values
    }

    consuming func run() -> Result {
        let secrets = JSONSecrets(bytes, redaction: rewriting.redaction)
        for place in secrets.places {
            switch (place.kind, place.secrecy) {
            case (.string, nil): rewriteSecrets(inString: place.range, named: place.name)
            case (.string, _): rewriteString(place.range, named: place.name)
            case (.scalar, .any): rewriteNumber(place.range, named: place.name)
            default: break
            }
        }
        guard let fault = secrets.fault else {
            return Result(
                bytes: copied > 0 ? output + bytes[copied...] : bytes, foundSecret: copied > 0, isWhole: true)
        }
        let rest = LooseJSON(bytes[fault.token...], by: rewriting)
            .run(valueName: fault.secretName.map { bytes[$0] })
        let foundSecret = copied > 0 || rest != nil
        return Result(
            bytes: foundSecret ? output + bytes[copied..<fault.token] + (rest ?? bytes[fault.token...]) : bytes,
            foundSecret: foundSecret, isWhole: false)
    }

    private mutating func rewriteString(_ range: Range<Int>, named name: Range<Int>) {
        let scheme = AuthorizationScheme.length(in: bytes[range])
        let secret = range.lowerBound + scheme..<range.upperBound
        let found = NamedSecret(JSONText.unescape(bytes[secret]), named: bytes[name], at: place(of: secret))
        guard let text = replacement(of: found, at: secret).map({ JSONText.escape($0) }) else { return }
        if !text.elementsEqual(bytes[secret]) { replace(secret, with: text) }
    }

    private mutating func rewriteNumber(_ range: Range<Int>, named name: Range<Int>) {
        let found = NamedSecret(Array(bytes[range]), named: bytes[name], at: place(of: range), isNumber: true)
        if let text = replacement(of: found, at: range) { replace(range, with: text) }
    }

    private func replacement(of secret: NamedSecret, at range: Range<Int>) -> [UInt8]? {
        if let value = left.first(where: { $0.upperBound >= range.upperBound }), value.lowerBound <= range.lowerBound {
            rewriting.strategy.leave(secret)
            return nil
        }
        return rewriting.replacement(of: secret)
    }

    /// The place of a secret; the secrets of a document are found from left to right.
    private mutating func place(of range: Range<Int>) -> NamedSecret.Place {
        guard rewriting.strategy.readsPaths else { return .json(pattern: nil) }
        if paths == nil { paths = TextPlaces(bytes, hits: []) }
        return .json(pattern: paths?.pattern(of: range.lowerBound))
    }

    /// Replaces the secrets in the URLs or the JSON of a string that is not secret as a whole.
    private mutating func rewriteSecrets(inString range: Range<Int>, named name: Range<Int>) {
        guard JSONText.mayHoldURLOrJSON(bytes[range]) || bytes[range].contains(where: { "=:".utf8.contains($0) }) else {
            return
        }
        let text = JSONText.unescape(bytes[range])
        if JSONText.isLikely(text) {
            guard nesting > 0 else {
                rewriteString(range, named: name)
                return
            }
            let inner = JSONRewriting(text, by: rewriting, nesting: nesting - 1).run()
            if inner.foundSecret {
                replace(range, with: JSONText.escape(inner.bytes))
                return
            }
            // A search for assignments would find a value that the rules for JSON leave.
            if inner.isWhole, rewriting.allowed.json != nil { return }
        }
        var search = SecretSearch(text, redaction: rewriting.redaction, nesting: nesting, findsTokens: false)
        search.findInLinks()
        search.findAssignments()
        if let rewritten = search.rewritten(by: rewriting), rewritten != text {
            replace(range, with: JSONText.escape(rewritten))
        }
    }

    private mutating func replace(_ range: Range<Int>, with replacement: [UInt8]) {
        output += bytes[copied..<range.lowerBound]
        output += replacement
        copied = range.upperBound
    }
}
