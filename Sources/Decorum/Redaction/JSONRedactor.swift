/// Replaces values in JSON, in one pass over its bytes and without a limit on its size.
///
/// It reads the grammar of RFC 8259 strictly. At the first byte that breaks it, or at the end of a text cut short, it
/// cannot know any more what is a name and what is a value: the rest, from the start of the broken token on, is replaced.
/// Several values after one another are taken as such, so newline-delimited JSON works too.
struct JSONRedactor {
    struct Result {
        let bytes: [UInt8]
        /// Whether a secret was replaced, the rest of a broken text aside.
        let foundSecret: Bool
        /// Whether all of it was read; otherwise its end was replaced.
        let isWhole: Bool
        /// How many bytes were looked at, which grows with their number alone.
        let steps: Int
    }

    private struct Fault: Error {}

    private struct Frame {
        let isObject: Bool
        let state: JSONMatcher.State
        /// Where the name stands under which it is found.
        let name: Range<Int>
        var count = 0
    }

    private static let depthLimit = 512

    private let redaction: Redaction
    private let nesting: Int
    private let bytes: [UInt8]
    private let placeholder: [UInt8]
    /// What names the secrets; nil where one placeholder stands for all, and hides what cannot be read.
    private let pseudonyms: Pseudonyms?
    private let masksTokens: Bool
    private var position = 0
    /// Where the output ends if the token at `position` turns out to be broken.
    private var tokenStart = 0
    private var stack: [Frame] = []
    /// The secret value within which the scanner is, and how deep it stands.
    private var secret: (start: Int, depth: Int, name: Range<Int>, secrecy: SecretNames.Secrecy)?
    private var output: [UInt8] = []
    private var steps: Int
    private var copied = 0

    init(
        _ bytes: [UInt8], redaction: Redaction, nesting: Int = Redaction.nesting, pseudonyms: Pseudonyms? = nil,
        masksTokens: Bool = true
    ) {
        self.bytes = bytes
        self.pseudonyms = pseudonyms
        self.masksTokens = masksTokens && redaction.masksTokens && pseudonyms == nil
        self.redaction = redaction
        // Each byte is a part of one token, and looked at again where that is a string.
        steps = bytes.count
        self.nesting = nesting
        placeholder = JSONText.escape(redaction.placeholder.utf8)
    }

    consuming func run() -> Result {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        do {
            try scanDocument()
            let isUnchanged = copied == 0
            return Result(
                bytes: isUnchanged ? bytes : output + bytes[copied...], foundSecret: !isUnchanged, isWhole: true,
                steps: steps)
        } catch {
            if let pseudonyms {
                let rest = LooseJSON(bytes[tokenStart...], redaction: redaction, pseudonyms: pseudonyms)
                    .run(valueName: secret.map { bytes[$0.name] })
                let isUnchanged = copied == 0 && rest == nil
                return Result(
                    bytes: isUnchanged ? bytes : output + bytes[copied..<tokenStart] + (rest ?? bytes[tokenStart...]),
                    foundSecret: !isUnchanged, isWhole: false, steps: steps)
            }
            let kept = copied <= tokenStart ? output + bytes[copied..<tokenStart] : output
            return Result(
                bytes: kept + redaction.placeholder.utf8, foundSecret: copied > 0, isWhole: false, steps: steps)
        }
    }

    private mutating func scanDocument() throws(Fault) {
        while skipBlanks() != nil {
            try scanValue(at: redaction.jsonMatcher.start, secrecy: nil, name: position..<position)
            while let frame = stack.last {
                try scanNext(in: frame)
            }
        }
    }

    /// Scans one member or element, or the end of the innermost object or array.
    private mutating func scanNext(in frame: Frame) throws(Fault) {
        let byte = skipBlanks()
        if byte == (frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position += 1
            stack.removeLast()
            endValue()
            return
        }
        if frame.count > 0 { try scan(UInt8(ascii: ",")) }
        stack[stack.count - 1].count += 1

        guard frame.isObject else {
            let state = secret == nil ? redaction.jsonMatcher.step(frame.state, intoElement: frame.count) : []
            try scanValue(at: state, secrecy: nil, name: frame.name)
            return
        }
        guard skipBlanks() == UInt8(ascii: "\"") else { throw Fault() }
        let name = try scanString()
        if secret == nil { replaceTokens(in: name) }
        let key = JSONText.unescape(bytes[name])
        try scan(UInt8(ascii: ":"))
        if secret != nil {
            try scanValue(at: [], secrecy: nil, name: name)
        } else {
            let state = redaction.jsonMatcher.step(frame.state, into: SecretNames.normalized(key))
            try scanValue(at: state, secrecy: redaction.jsonMatcher.deepNames.secrecy(of: key), name: name)
        }
    }

    /// Scans a value, of an object or array only the start.
    private mutating func scanValue(
        at state: JSONMatcher.State, secrecy: SecretNames.Secrecy?, name: Range<Int>
    ) throws(Fault) {
        guard let byte = skipBlanks() else { throw Fault() }
        if secret == nil, let secrecy = redaction.jsonMatcher.accepts(state) ? .any : secrecy,
            secrecy == .any || "\"{[".utf8.contains(byte)
        {
            secret = (position, stack.count, name, secrecy)
        }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard stack.count < Self.depthLimit else { throw Fault() }
            stack.append(Frame(isObject: byte == UInt8(ascii: "{"), state: state, name: name))
            position += 1
        case UInt8(ascii: "\""):
            let content = try scanString()
            if let secret {
                renameString(content, named: secret.name)
            } else {
                redactString(content, named: name)
            }
            endValue()
        default:
            let start = position
            try scanScalar()
            renameNumber(start..<position)
            endValue()
        }
    }

    private mutating func endValue() {
        guard let (start, depth, _, _) = secret, depth == stack.count else { return }
        secret = nil
        // Values that are named keep their type, so that what reads them can: see `renameString`.
        guard pseudonyms == nil else { return }
        replace(start..<position, with: [UInt8(ascii: "\"")] + placeholder + [UInt8(ascii: "\"")])
    }

    /// Gives a secret string, or each within a secret object or array, its pseudonym.
    private mutating func renameString(_ range: Range<Int>, named name: Range<Int>) {
        guard let pseudonyms else { return }
        let scheme = AuthorizationScheme.length(in: bytes[range])
        let secret = range.lowerBound + scheme..<range.upperBound
        let text = redaction.pseudonym(of: JSONText.unescape(bytes[secret]), named: bytes[name], in: pseudonyms)
        if let text, !text.elementsEqual(bytes[secret]) { replace(secret, with: text) }
    }

    /// Replaces a secret number by zero, since a pseudonym is none; a short one only counts something.
    private mutating func renameNumber(_ range: Range<Int>) {
        guard pseudonyms != nil, secret?.secrecy == .any, LooseJSON.isSecretNumber(bytes[range]) else { return }
        replace(range, with: [UInt8(ascii: "0")])
    }

    /// Redacts the URLs, or the JSON, in a string.
    private mutating func redactString(_ range: Range<Int>, named name: Range<Int>) {
        let isOfInterest = bytes[range].contains {
            switch $0 {
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "/"),
                UInt8(ascii: "\\"):
                true
            default: false
            }
        }
        steps += range.count
        guard isOfInterest else {
            replaceTokens(in: range)
            return
        }
        let text = JSONText.unescape(bytes[range])
        if JSONText.isLikely(text) {
            let inner = nesting > 0 ? innerResult(text) : nil
            guard let inner else {
                if pseudonyms != nil {
                    renameString(range, named: name)
                } else if !redaction.jsonMatcher.isEmpty {
                    replace(range, with: placeholder)
                }
                return
            }
            steps += inner.steps
            if inner.foundSecret {
                replace(range, with: JSONText.escape(inner.bytes))
                return
            }
        }
        var secrets = SecretRanges(
            text, redaction: redaction, nesting: nesting, pseudonyms: pseudonyms, masksTokens: masksTokens)
        if pseudonyms == nil {
            secrets.findInText()
            secrets.findTokens()
        } else {
            secrets.findInLinks()
        }
        steps += secrets.steps
        if let replaced = secrets.replaced(), replaced != text { replace(range, with: JSONText.escape(replaced)) }
    }

    /// Replaces the tokens in a name or a string, whose characters need no escapes.
    private mutating func replaceTokens(in range: Range<Int>) {
        guard masksTokens else { return }
        for token in TokenSearch.secrets(in: bytes, range, counting: &steps) { replace(token, with: placeholder) }
    }

    private func innerResult(_ text: [UInt8]) -> Result {
        JSONRedactor(
            text, redaction: redaction, nesting: nesting - 1, pseudonyms: pseudonyms, masksTokens: masksTokens
        ).run()
    }

    private mutating func replace(_ range: Range<Int>, with replacement: [UInt8]) {
        output += bytes[copied..<range.lowerBound]
        output += replacement
        copied = range.upperBound
    }

    /// Moves to the next token and returns its first byte.
    private mutating func skipBlanks() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            // U+001E stands before each value of a JSON text sequence (RFC 7464).
            case 0x20, 0x09, 0x0A, 0x0D, 0x1E: position += 1
            default:
                if secret == nil || pseudonyms != nil { tokenStart = position }
                return bytes[position]
            }
        }
        if secret == nil || pseudonyms != nil { tokenStart = position }
        return nil
    }

    private mutating func scan(_ byte: UInt8) throws(Fault) {
        guard skipBlanks() == byte else { throw Fault() }
        position += 1
    }

    /// Scans a string and returns where its content is.
    private mutating func scanString() throws(Fault) -> Range<Int> {
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
        throw Fault()
    }

    private mutating func scanEscape() throws(Fault) {
        guard position + 1 < bytes.count else { throw Fault() }
        switch bytes[position + 1] {
        case UInt8(ascii: "u"):
            let digits = position + 2..<position + 6
            guard digits.upperBound <= bytes.count,
                bytes[digits].allSatisfy({ PercentCoding.hexDigit($0) != nil })
            else { throw Fault() }
            position += 6
        case let escape where "\"\\/bfnrt".utf8.contains(escape): position += 2
        default: throw Fault()
        }
    }

    private mutating func scanScalar() throws(Fault) {
        let end = bytes[position...].firstIndex { !Self.isInScalar($0) } ?? bytes.count
        let scalar = bytes[position..<end]
        let isNumber =
            scalar.contains { (0x30...0x39).contains($0) }
            && scalar.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isNumber || ["true", "false", "null"].contains(where: { scalar.elementsEqual($0.utf8) }) else {
            throw Fault()
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
