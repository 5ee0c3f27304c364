/// JSON with a placeholder for each secret: for values under secret names, and for the secrets in the URLs, the JSON and the
/// tokens of other strings.
///
/// If a token breaks the grammar, the placeholder stands for the rest from that token, or from the start of the secret value
/// around it: text that cannot be parsed is not shown.
package struct MaskedJSON {
    /// The JSON without its secrets.
    package private(set) var bytes: [UInt8] = []
    /// Whether a secret was replaced, not counting the rest of a broken text.
    package private(set) var foundSecret = false
    /// Whether the whole text was parsed; otherwise its end was replaced.
    package private(set) var isWhole = true

    private let rules: SecretRules
    private let nesting: Int
    private let placeholder: [UInt8]
    private var edits: TextEdits

    /// Masks JSON with a placeholder that is not escaped yet.
    package init(
        _ json: [UInt8], rules: SecretRules, placeholder: String = "", nesting: Int = SecretRules.nestingLimit
    ) {
        self.rules = rules
        self.nesting = nesting
        self.placeholder = JSONText.escape(placeholder.utf8)
        edits = TextEdits(json)
        let secrets = JSONSecrets(json, rules: rules)
        for place in secrets.places {
            switch place.kind {
            case .name: maskTokens(in: place.range)
            case .string where place.secrecy == nil: maskSecrets(inString: place.range, placeholder)
            case .value: edits.replace(place.range, with: [0x22] + self.placeholder + [0x22])
            case .string, .scalar: break
            }
        }
        foundSecret = !edits.isEmpty
        guard let fault = secrets.fault else {
            bytes = edits.result ?? json
            return
        }
        isWhole = false
        bytes = edits.prefix(upTo: max(edits.end, fault.secret?.start ?? fault.token)) + placeholder.utf8
    }

    private mutating func maskSecrets(inString range: Range<Int>, _ placeholder: String) {
        let json = edits.bytes
        if rules.tokens, EncodedTokens.isEncodedToken(json[range], rules) {
            return edits.replace(range, with: self.placeholder)
        }
        guard JSONText.mayHoldURLOrJSON(json[range]) || json[range].contains(where: { "=:".utf8.contains($0) }) else {
            return maskTokens(in: range)
        }
        let text = JSONText.unescape(json[range])
        if JSONText.isLikely(text) {
            guard nesting > 0 else {
                if !rules.json.isEmpty { edits.replace(range, with: self.placeholder) }
                return
            }
            let inner = MaskedJSON(text, rules: rules, placeholder: placeholder, nesting: nesting - 1)
            if inner.foundSecret { return edits.replace(range, with: JSONText.escape(inner.bytes)) }
        }
        var search = SecretSearch(text, rules: rules, nesting: nesting)
        search.findInText()
        search.findAssignments()
        search.findTokens()
        let encoded = PercentEscapes.encode(Array(placeholder.utf8))
        if let masked = search.replacing({ _ in encoded }), masked != text {
            edits.replace(range, with: JSONText.escape(masked))
        }
    }

    /// Masks the tokens in a name or a string, whose characters need no escapes.
    private mutating func maskTokens(in range: Range<Int>) {
        guard rules.tokens else { return }
        for token in TokenSearch.secrets(in: edits.bytes, range) { edits.replace(token, with: placeholder) }
    }
}
