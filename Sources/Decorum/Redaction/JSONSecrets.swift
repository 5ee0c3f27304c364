/// Finds the secrets in JSON by their names, in one pass over its bytes and without a limit on its size.
///
/// It follows the grammar of RFC 8259 strictly. The search ends at the first byte that breaks it, or at the end of an
/// incomplete text, since names and values cannot be distinguished from there on; see ``fault``. A document may hold
/// several values in sequence, so newline-delimited JSON and JSON text sequences (RFC 7464) work too.
///
/// The result is a list of places, so that each caller replaces secrets in a different way: a log masks whole values,
/// and a recorder replaces strings by pseudonyms.
public struct JSONSecrets: Sendable {
    /// A part of the document that is, or may hold, a secret.
    public struct Place: Sendable, Hashable {
        /// The kinds of places.
        public enum Kind: Sendable, Hashable {
            /// The name of a member that is not within a secret value; the range lies between its quotation marks. A name that is
            /// too short to hold a token is left out.
            case name
            /// A string, inside or outside of a secret value; the range lies between its quotation marks. Outside of a secret value,
            /// a string is left out that can hold neither a URL, nor JSON, nor a token.
            case string
            /// A number, `true`, `false` or `null` within a secret value.
            case scalar
            /// A whole secret value of any type, with its quotation marks or brackets. It comes after its strings and
            /// scalars.
            case value
        }

        /// The kind.
        public let kind: Kind
        /// The bytes of the place.
        public let range: Range<Int>
        /// The bytes of the name of the value; empty at the top level.
        ///
        /// Inside a secret value, it is the name of that secret value.
        public let name: Range<Int>
        /// The values of the name that are secret; nil for a name, and for a string outside of a secret value.
        public let secrecy: SecretNames.Secrecy?
    }

    /// The place at which the search ended before the end of the document.
    public struct Fault: Sendable, Hashable {
        /// The first byte of the token that breaks the grammar or is incomplete.
        public let token: Int
        /// The first byte of the secret value that contains the token; nil when the token is outside of secret values.
        public let secretStart: Int?
        /// The bytes of the name of that value.
        public let secretName: Range<Int>?
    }

    private struct Frame {
        let isObject: Bool
        let state: JSONMatcher.State
        /// The position of its name.
        let name: Range<Int>
        var count = 0
        /// The values of its members that form a pair, as in `{"name": "Authorization", "value": "…"}`.
        var pair = JSONPair()
    }

    /// The places, in the order in which they end.
    public private(set) var places: [Place] = []
    /// The place where the search ended early; nil when it read the whole document.
    public private(set) var fault: Fault?

    private let redaction: Redaction
    private let matcher: JSONMatcher
    private var scanner: JSONScanner
    /// The start of the token that is being read, for ``fault``.
    private var tokenStart = 0
    private var stack: [Frame] = []
    /// The secret value that contains the current position, and its depth.
    private var secret: (start: Int, depth: Int, name: Range<Int>, secrecy: SecretNames.Secrecy)?

    /// Searches a document.
    ///
    /// - Parameters:
    ///   - bytes: The document, with or without a byte order mark.
    ///   - redaction: The redaction; its ``Redaction/jsonPaths`` are used, and for pairs of a name and a value also the
    ///     names of fields and items.
    public init(_ bytes: [UInt8], redaction: Redaction) {
        self.redaction = redaction
        matcher = redaction.jsonMatcher
        scanner = JSONScanner(bytes, allowsControls: true)
        do {
            try scanDocument()
        } catch {
            for frame in stack where secret == nil { addPair(of: frame) }
            fault = Fault(token: tokenStart, secretStart: secret?.start, secretName: secret?.name)
        }
    }

    private mutating func scanDocument() throws(JSONSyntaxError) {
        while skipBlanks() != nil {
            try scanValue(at: matcher.start, secrecy: nil, name: tokenStart..<tokenStart)
            while let frame = stack.last {
                try scanNext(in: frame)
            }
        }
    }

    /// Scans one member or element, or the end of the innermost object or array.
    private mutating func scanNext(in frame: Frame) throws(JSONSyntaxError) {
        let byte = skipBlanks()
        if byte == (frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            scanner.consumeMark()
            stack.removeLast()
            if secret == nil, frame.isObject { addPair(of: frame) }
            endValue()
            return
        }
        if frame.count > 0 { try expect(UInt8(ascii: ",")) }
        stack[stack.count - 1].count += 1

        guard frame.isObject else {
            let state = secret == nil ? matcher.step(frame.state, intoElement: frame.count) : []
            _ = skipBlanks()
            let start = position
            try scanValue(at: state, secrecy: nil, name: frame.name)
            if secret == nil, !frame.name.isEmpty { addIfOpaque(start..<position, name: frame.name) }
            return
        }
        _ = skipBlanks()
        let name = try scanner.skipText()
        if secret == nil, name.count >= TokenSearch.minimumLength {
            places.append(Place(kind: .name, range: name, name: name, secrecy: nil))
        }
        try expect(UInt8(ascii: ":"))
        if secret != nil {
            try scanValue(at: [], secrecy: nil, name: name)
        } else {
            let key = JSONText.unescape(bytes[name])
            let role = JSONPair.Role(of: bytes[name])
            _ = skipBlanks()
            let start = position
            try scanValue(
                at: matcher.step(frame.state, into: SecretNames.normalized(key)),
                secrecy: matcher.deepNames.secrecy(of: key), name: name)
            guard secret == nil, let last = bytes[start..<position].last else { return }
            if let role, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") {
                stack[stack.count - 1].pair.add(start..<position, as: role)
            }
            addIfOpaque(start..<position, name: name)
        }
    }

    /// Adds the value of a pair whose name is that of a secret.
    private mutating func addPair(of frame: Frame) {
        guard let (name, value) = frame.pair.values else { return }
        let text = JSONText.unescape(bytes[name])
        let content = JSONPair.content(of: value, in: bytes)
        if let secrecy = redaction.secrecy(ofPairNamed: text) {
            let isText = content != value
            guard secrecy == .any || isText, !content.isEmpty else { return }
            addSecret(value, name: name, secrecy: secrecy)
        } else if redaction.queryItems.secrecy(of: text) != nil, OpaqueText.isOpaque(bytes[content]),
            !OpaqueText.isUUID(bytes[content])
        {
            addSecret(value, name: name, secrecy: .text)
        }
    }

    /// Adds a string that looks random, as the value of a name under which such a one is secret.
    private mutating func addIfOpaque(_ value: Range<Int>, name: Range<Int>) {
        guard !redaction.opaqueNames.isEmpty, value.count > 2, bytes[value].last == UInt8(ascii: "\""),
            redaction.opaqueNames.secrecy(of: bytes[name]) != nil
        else { return }
        let content = JSONPair.content(of: value, in: bytes)
        // A number in hexadecimal is an address or a hash, as in the parameters of JSON-RPC.
        guard OpaqueText.isOpaque(bytes[content]), !OpaqueText.isUUID(bytes[content]),
            !OpaqueText.isPath(bytes[content]), !bytes[content].starts(with: "0x".utf8)
        else { return }
        addSecret(value, name: name, secrecy: .text)
    }

    /// Adds a string or a scalar that turned out to be secret after it was scanned; the places stay in order.
    private mutating func addSecret(_ value: Range<Int>, name: Range<Int>, secrecy: SecretNames.Secrecy) {
        let content = JSONPair.content(of: value, in: bytes)
        let after = places.lastIndex { $0.range.lowerBound < value.lowerBound }.map { $0 + 1 } ?? 0
        let end = places[after...].firstIndex { $0.range.lowerBound >= value.upperBound } ?? places.count
        guard !places[after..<end].contains(where: { $0.kind == .value }) else { return }
        let kind: Place.Kind = content == value ? .scalar : .string
        places.replaceSubrange(
            after..<end,
            with: [
                Place(kind: kind, range: content, name: name, secrecy: secrecy),
                Place(kind: .value, range: value, name: name, secrecy: secrecy),
            ])
    }

    /// Scans a value; of an object or array, only its first byte.
    private mutating func scanValue(
        at state: JSONMatcher.State, secrecy: SecretNames.Secrecy?, name: Range<Int>
    ) throws(JSONSyntaxError) {
        guard let byte = skipBlanks() else { throw scanner.fault("a value is expected") }
        if secret == nil, let secrecy = matcher.accepts(state) ? .any : secrecy,
            secrecy == .any || "\"{[".utf8.contains(byte)
        {
            secret = (tokenStart, stack.count, name, secrecy)
        }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard stack.count < JSONScanner.depthLimit else { throw scanner.fault("it is nested too deeply") }
            stack.append(Frame(isObject: byte == UInt8(ascii: "{"), state: state, name: name))
            scanner.consumeMark()
        case UInt8(ascii: "\""):
            add(.string, at: try scanner.skipText(), named: name)
            endValue()
        default:
            try scanner.skipScalar()
            if secret != nil { add(.scalar, at: tokenStart..<position, named: name) }
            endValue()
        }
    }

    private mutating func add(_ kind: Place.Kind, at range: Range<Int>, named name: Range<Int>) {
        // Most strings hold nothing, and a place takes more memory than they do.
        let isOfInterest =
            secret != nil || range.count >= TokenSearch.minimumLength || JSONText.mayHoldURLOrJSON(bytes[range])
        guard isOfInterest else { return }
        places.append(Place(kind: kind, range: range, name: secret?.name ?? name, secrecy: secret?.secrecy))
    }

    private mutating func endValue() {
        guard let (start, depth, name, secrecy) = secret, depth == stack.count else { return }
        secret = nil
        places.append(Place(kind: .value, range: start..<position, name: name, secrecy: secrecy))
    }

    /// Moves to the next token and returns its first byte; nil at the end.
    private mutating func skipBlanks() -> UInt8? {
        let byte = scanner.next()
        tokenStart = position
        return byte
    }

    private var bytes: [UInt8] { scanner.bytes }

    private var position: Int { scanner.position }

    private mutating func expect(_ mark: UInt8) throws(JSONSyntaxError) {
        _ = skipBlanks()
        try scanner.expect(mark)
    }
}
