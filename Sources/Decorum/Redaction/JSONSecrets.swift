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

    private struct BrokenGrammar: Error {}

    private struct Frame {
        let isObject: Bool
        let state: JSONMatcher.State
        /// The position of its name.
        let name: Range<Int>
        var count = 0
        /// The values of its members that form a pair, as in `{"name": "Authorization", "value": "…"}`.
        var pair = JSONPair()
    }

    private static let depthLimit = 512

    /// The places, in the order in which they end.
    public private(set) var places: [Place] = []
    /// The place where the search ended early; nil when it read the whole document.
    public private(set) var fault: Fault?

    private let bytes: [UInt8]
    private let redaction: Redaction
    private let matcher: JSONMatcher
    private var position = 0
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
        self.bytes = bytes
        self.redaction = redaction
        matcher = redaction.jsonMatcher
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        do {
            try scanDocument()
        } catch {
            for frame in stack where secret == nil { addPair(of: frame) }
            fault = Fault(token: tokenStart, secretStart: secret?.start, secretName: secret?.name)
        }
    }

    private mutating func scanDocument() throws(BrokenGrammar) {
        while skipBlanks() != nil {
            try scanValue(at: matcher.start, secrecy: nil, name: position..<position)
            while let frame = stack.last {
                try scanNext(in: frame)
            }
        }
    }

    /// Scans one member or element, or the end of the innermost object or array.
    private mutating func scanNext(in frame: Frame) throws(BrokenGrammar) {
        let byte = skipBlanks()
        if byte == (frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position += 1
            stack.removeLast()
            if secret == nil, frame.isObject { addPair(of: frame) }
            endValue()
            return
        }
        if frame.count > 0 { try scan(UInt8(ascii: ",")) }
        stack[stack.count - 1].count += 1

        guard frame.isObject else {
            let state = secret == nil ? matcher.step(frame.state, intoElement: frame.count) : []
            try scanValue(at: state, secrecy: nil, name: frame.name)
            return
        }
        guard skipBlanks() == UInt8(ascii: "\"") else { throw BrokenGrammar() }
        let name = try scanString()
        if secret == nil, name.count >= TokenSearch.minimumLength {
            places.append(Place(kind: .name, range: name, name: name, secrecy: nil))
        }
        try scan(UInt8(ascii: ":"))
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
            if !redaction.opaqueNames.isEmpty, last == UInt8(ascii: "\""), redaction.opaqueNames.secrecy(of: key) != nil
            {
                addIfOpaque(start..<position, name: name)
            }
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

    private mutating func addIfOpaque(_ value: Range<Int>, name: Range<Int>) {
        let content = JSONPair.content(of: value, in: bytes)
        guard OpaqueText.isOpaque(bytes[content]), !OpaqueText.isUUID(bytes[content]) else { return }
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
    ) throws(BrokenGrammar) {
        guard let byte = skipBlanks() else { throw BrokenGrammar() }
        if secret == nil, let secrecy = matcher.accepts(state) ? .any : secrecy,
            secrecy == .any || "\"{[".utf8.contains(byte)
        {
            secret = (position, stack.count, name, secrecy)
        }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard stack.count < Self.depthLimit else { throw BrokenGrammar() }
            stack.append(Frame(isObject: byte == UInt8(ascii: "{"), state: state, name: name))
            position += 1
        case UInt8(ascii: "\""):
            add(.string, at: try scanString(), named: name)
            endValue()
        default:
            let start = position
            try scanScalar()
            if secret != nil { add(.scalar, at: start..<position, named: name) }
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

    /// Moves to the next token and returns its first byte.
    private mutating func skipBlanks() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            // U+001E precedes each value of a JSON text sequence (RFC 7464).
            case 0x20, 0x09, 0x0A, 0x0D, 0x1E: position += 1
            default:
                tokenStart = position
                return bytes[position]
            }
        }
        tokenStart = position
        return nil
    }

    private mutating func scan(_ byte: UInt8) throws(BrokenGrammar) {
        guard skipBlanks() == byte else { throw BrokenGrammar() }
        position += 1
    }

    /// Scans a string and returns where its content is.
    private mutating func scanString() throws(BrokenGrammar) -> Range<Int> {
        let start = position + 1
        position = start
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position - 1
            case UInt8(ascii: "\\"): try scanEscape()
            default: position += 1
            }
        }
        throw BrokenGrammar()
    }

    private mutating func scanEscape() throws(BrokenGrammar) {
        guard position + 1 < bytes.count else { throw BrokenGrammar() }
        switch bytes[position + 1] {
        case UInt8(ascii: "u"):
            let digits = position + 2..<position + 6
            guard digits.upperBound <= bytes.count,
                bytes[digits].allSatisfy({ PercentCoding.hexDigit($0) != nil })
            else { throw BrokenGrammar() }
            position += 6
        case let escape where "\"\\/bfnrt".utf8.contains(escape): position += 2
        default: throw BrokenGrammar()
        }
    }

    private mutating func scanScalar() throws(BrokenGrammar) {
        let end = bytes[position...].firstIndex { !Self.isInScalar($0) } ?? bytes.count
        let scalar = bytes[position..<end]
        let isNumber =
            scalar.contains { (0x30...0x39).contains($0) }
            && scalar.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isNumber || ["true", "false", "null"].contains(where: { scalar.elementsEqual($0.utf8) }) else {
            throw BrokenGrammar()
        }
        position = end
    }

    private static func isInScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }
}
