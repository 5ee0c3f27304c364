/// Finds the secrets in JSON by their names, in one pass over its bytes and without a limit on its size.
///
/// It follows the grammar of RFC 8259 strictly, and ends at the first byte that breaks it, since names and values cannot be
/// distinguished from there on. A document may hold several values in sequence, so newline-delimited JSON and JSON text
/// sequences (RFC 7464) work too.
package struct JSONSecrets: Sendable {
    /// A part of the document that is, or may hold, a secret.
    package struct Place: Sendable {
        package enum Kind: Sendable {
            /// The name of a member outside of secret values, between its quotation marks, if it is long enough for a token.
            case name
            /// A string between its quotation marks, inside a secret value or, if it may hold a secret, outside of one.
            case string
            /// A number, `true`, `false` or `null` within a secret value.
            case scalar
            /// A whole secret value of any type. It comes after its strings and scalars.
            case value
        }

        package let kind: Kind
        package let range: Range<Int>
        /// The bytes of the name of the value, or of the secret value around it; empty at the top level.
        package let name: Range<Int>
        /// The values of the name that are secret; nil for a name, and for a string outside of a secret value.
        package let secrecy: SecretNameSet.Secrecy?
    }

    private struct Frame {
        let isObject: Bool
        let state: JSONMatcher.State
        /// The position of its name.
        let name: Range<Int>
        var count = 0
        /// The members that are a name and its value, as HTTP archives write fields: `{"name": "Authorization", "value": "…"}`.
        var pair: (name: Range<Int>?, value: Range<Int>?)
    }

    /// The places, in the order in which they end.
    package private(set) var places: [Place] = []
    /// The first byte of the token that breaks the grammar or is incomplete, with the first byte of the secret value around
    /// it and the bytes of its name; nil if the whole document was read.
    package private(set) var fault: (token: Int, secret: (start: Int, name: Range<Int>)?)?

    private let rules: SecretRules
    private var scanner: JSONScanner
    /// The start of the token that is being read, for ``fault``.
    private var tokenStart = 0
    private var stack: [Frame] = []
    /// The secret value that contains the current position, and its depth.
    private var secret: (start: Int, depth: Int, name: Range<Int>, secrecy: SecretNameSet.Secrecy)?

    /// Searches a document, with or without a byte order mark.
    package init(_ bytes: [UInt8], rules: SecretRules) {
        self.rules = rules
        scanner = JSONScanner(bytes, allowsControls: true)
        do {
            while skipBlanks() != nil {
                try scanValue(at: rules.json.start, secrecy: nil, name: tokenStart..<tokenStart)
                while let frame = stack.last { try scanNext(in: frame) }
            }
        } catch {
            for frame in stack where secret == nil { addPair(of: frame) }
            fault = (tokenStart, secret.map { ($0.start, $0.name) })
        }
    }

    /// Whether the document is whole and has a secret value.
    var hasValue: Bool { fault == nil && places.contains { $0.kind == .value } }

    /// Scans one member or element, or the end of the innermost object or array.
    private mutating func scanNext(in frame: Frame) throws(JSONSyntaxError) {
        let byte = skipBlanks()
        if byte == (frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            scanner.position += 1
            stack.removeLast()
            if secret == nil, frame.isObject { addPair(of: frame) }
            return endValue()
        }
        if frame.count > 0 {
            try scanner.expect(UInt8(ascii: ","))
            _ = skipBlanks()
        }
        stack[stack.count - 1].count += 1

        guard frame.isObject else {
            let state = secret == nil ? rules.json.step(frame.state, intoElement: frame.count) : []
            let start = position
            try scanValue(at: state, secrecy: nil, name: frame.name)
            if secret == nil, !frame.name.isEmpty { addIfOpaque(start..<position, name: frame.name) }
            return
        }
        let name = try scanner.skipText()
        if secret == nil, name.count >= TokenSearch.minimumLength { add(.name, name, name, nil) }
        _ = skipBlanks()
        try scanner.expect(UInt8(ascii: ":"))
        guard secret == nil else { return try scanValue(at: [], secrecy: nil, name: name) }
        let key = JSONText.unescape(bytes[name])
        _ = skipBlanks()
        let start = position
        try scanValue(
            at: rules.json.step(frame.state, into: key), secrecy: rules.jsonNames.secrecy(of: key), name: name)
        guard secret == nil, let last = bytes[start..<position].last else { return }
        if last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { notePair(start..<position, named: bytes[name]) }
        addIfOpaque(start..<position, name: name)
    }

    private static let pairNames = ["name", "key", "field", "header"].map { Array($0.utf8) }
    private static let pairValues = ["value", "val"].map { Array($0.utf8) }

    /// Notes the value of a member if its name is that of a name or a value.
    private mutating func notePair(_ range: Range<Int>, named member: ArraySlice<UInt8>) {
        // Most names have another length or start.
        guard (3...6).contains(member.count), "nkfhv".utf8.contains(bytes[member.startIndex] | 0x20) else { return }
        let (last, letters) = (stack.count - 1, member.lazy.map { $0 | 0x20 })
        if Self.pairValues.contains(where: { letters.elementsEqual($0) }) {
            stack[last].pair.value = stack[last].pair.value ?? range
        } else if Self.pairNames.contains(where: { letters.elementsEqual($0) }) {
            stack[last].pair.name = stack[last].pair.name ?? range
        }
    }

    /// Adds the value of a pair whose name is that of a secret.
    private mutating func addPair(of frame: Frame) {
        guard let name = frame.pair.name, let value = frame.pair.value, name.count > 2 else { return }
        let range = name.lowerBound + 1..<name.upperBound - 1
        let text = JSONText.unescape(bytes[range])
        let content = content(of: value)
        if let secrecy = rules.secrecy(ofPairNamed: text) {
            guard secrecy == .any || content != value, !content.isEmpty else { return }
            addSecret(value, name: range, secrecy: secrecy)
        } else if rules.queryItems.secrecy(of: text) != nil, OpaqueText.isOpaque(bytes[content], orUUID: false) {
            addSecret(value, name: range, secrecy: .text)
        }
    }

    /// Adds a string that looks random, as the value of a name under which such a string is secret.
    private mutating func addIfOpaque(_ value: Range<Int>, name: Range<Int>) {
        guard !rules.opaqueNames.isEmpty, value.count > 2, bytes[value].last == UInt8(ascii: "\""),
            rules.opaqueNames.secrecy(of: bytes[name]) != nil
        else { return }
        let content = content(of: value)
        // A number in hexadecimal is an address or a hash, as in the parameters of JSON-RPC.
        if OpaqueText.isOpaque(bytes[content], orUUID: false), !OpaqueText.isPath(bytes[content]),
            !bytes[content].starts(with: "0x".utf8)
        {
            addSecret(value, name: name, secrecy: .text)
        }
    }

    /// The content of a string between its quotation marks; a scalar as it is.
    private func content(of value: Range<Int>) -> Range<Int> {
        guard value.count >= 2, bytes[value.lowerBound] == UInt8(ascii: "\"") else { return value }
        return value.lowerBound + 1..<value.upperBound - 1
    }

    /// Adds a string or a scalar that turned out to be secret after it was scanned; the places stay in order.
    private mutating func addSecret(_ value: Range<Int>, name: Range<Int>, secrecy: SecretNameSet.Secrecy) {
        let content = content(of: value)
        let after = places.lastIndex { $0.range.lowerBound < value.lowerBound }.map { $0 + 1 } ?? 0
        let end = places[after...].firstIndex { $0.range.lowerBound >= value.upperBound } ?? places.count
        guard !places[after..<end].contains(where: { $0.kind == .value }) else { return }
        let part = Place(kind: content == value ? .scalar : .string, range: content, name: name, secrecy: secrecy)
        let whole = Place(kind: .value, range: value, name: name, secrecy: secrecy)
        places.replaceSubrange(after..<end, with: [part, whole])
    }

    private mutating func add(
        _ kind: Place.Kind, _ range: Range<Int>, _ name: Range<Int>, _ secrecy: SecretNameSet.Secrecy?
    ) {
        places.append(Place(kind: kind, range: range, name: name, secrecy: secrecy))
    }

    /// Scans a value; of an object or array, only its first byte.
    private mutating func scanValue(
        at state: JSONMatcher.State, secrecy: SecretNameSet.Secrecy?, name: Range<Int>
    ) throws(JSONSyntaxError) {
        guard let byte = skipBlanks() else { throw scanner.fault("a value is expected") }
        if secret == nil, let secrecy = rules.json.accepts(state) ? .any : secrecy,
            secrecy == .any || "\"{[".utf8.contains(byte)
        {
            secret = (tokenStart, stack.count, name, secrecy)
        }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard stack.count < JSONScanner.depthLimit else { throw scanner.fault("it is nested too deeply") }
            stack.append(Frame(isObject: byte == UInt8(ascii: "{"), state: state, name: name))
            scanner.position += 1
            return
        case UInt8(ascii: "\""):
            let range = try scanner.skipText()
            // Most strings hold nothing, and a place takes more memory than they do.
            if secret != nil || range.count >= TokenSearch.minimumLength || JSONText.mayHoldURLOrJSON(bytes[range]) {
                add(.string, range, secret?.name ?? name, secret?.secrecy)
            }
        default:
            try scanner.skipScalar()
            if let secret { add(.scalar, tokenStart..<position, secret.name, secret.secrecy) }
        }
        endValue()
    }

    private mutating func endValue() {
        guard let (start, depth, name, secrecy) = secret, depth == stack.count else { return }
        secret = nil
        add(.value, start..<position, name, secrecy)
    }

    /// Moves to the next token and returns its first byte; nil at the end.
    private mutating func skipBlanks() -> UInt8? {
        let byte = scanner.next()
        tokenStart = position
        return byte
    }

    private var bytes: [UInt8] { scanner.bytes }

    private var position: Int { scanner.position }
}

extension JSONSecrets {
    /// Replaces values under secret names, and the secrets in the URLs, the JSON and the tokens of other strings, by a
    /// placeholder that is not escaped yet.
    ///
    /// If a token breaks the grammar, the placeholder stands for the rest from that token, or from the start of the secret
    /// value around it: text that cannot be parsed is not shown. This rest does not count as a secret that was found.
    package static func masked(
        _ json: [UInt8], rules: SecretRules, placeholder: String = "", nesting: Int = SecretRules.nestingLimit
    ) -> (bytes: [UInt8], foundSecret: Bool, isWhole: Bool) {
        let secrets = JSONSecrets(json, rules: rules)
        let escaped = JSONText.escape(placeholder.utf8)
        var edits = TextEdits(json)

        func maskTokens(in range: Range<Int>) {
            guard rules.tokens else { return }
            for token in TokenSearch.secrets(in: json, range) { edits.replace(token, with: escaped) }
        }

        func maskSecrets(inString range: Range<Int>) {
            if rules.tokens, EncodedTokens.isEncodedToken(json[range], rules) {
                return edits.replace(range, with: escaped)
            }
            guard JSONText.mayHoldURLOrJSON(json[range]) || json[range].contains(where: { "=:".utf8.contains($0) })
            else { return maskTokens(in: range) }
            let text = JSONText.unescape(json[range])
            if JSONText.isLikely(text) {
                guard nesting > 0 else {
                    if !rules.json.isEmpty { edits.replace(range, with: escaped) }
                    return
                }
                let inner = masked(text, rules: rules, placeholder: placeholder, nesting: nesting - 1)
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

        for place in secrets.places {
            switch place.kind {
            case .name: maskTokens(in: place.range)
            case .string where place.secrecy == nil: maskSecrets(inString: place.range)
            case .value: edits.replace(place.range, with: [0x22] + escaped + [0x22])
            case .string, .scalar: break
            }
        }
        guard let fault = secrets.fault else { return (edits.result ?? json, !edits.isEmpty, true) }
        let start = max(edits.end, fault.secret?.start ?? fault.token)
        return (edits.prefix(upTo: start) + placeholder.utf8, !edits.isEmpty, false)
    }
}
