import Decorum

/// Replaces the secrets in JSON; each value keeps its type.
///
/// A secret string, each string in a secret object or array, and each number there is replaced by the strategy. In text
/// that is not complete JSON, the part after the point where the grammar breaks is searched loosely.
struct JSONRewriting {
    private static let keyLimit = 64

    private let bytes: [UInt8]
    private let rewriting: SecretRewriting
    private let nesting: Int
    /// The values that the rules leave, from left to right.
    private let left: [Range<Int>]
    private var paths: TextPlaces?
    private var edits: TextEdits

    init(_ bytes: [UInt8], by rewriting: SecretRewriting, nesting: Int = SecretRules.nestingLimit) {
        self.bytes = bytes
        self.rewriting = rewriting
        self.nesting = nesting
        edits = TextEdits(bytes)
        left =
            rewriting.allowed.json.map { places in
                let search = JSONSecrets(bytes, rules: places)
                // A text may be cut within a value.
                return search.places.filter { $0.kind == .value }.map(\.range)
                    + (search.fault?.secret.map { [$0.start..<bytes.count] } ?? [])
            } ?? []
    }

    /// The JSON without its secrets, or nil if it has none; and whether it is whole.
    consuming func run() -> (bytes: [UInt8]?, isWhole: Bool) {
        let secrets = JSONSecrets(bytes, rules: rewriting.rules)
        for place in secrets.places {
            switch (place.kind, place.secrecy) {
            case (.string, nil): rewriteSecrets(inString: place.range, named: place.name)
            case (.string, _): rewriteString(place.range, named: place.name)
            case (.scalar, .any): rewriteNumber(place.range, named: place.name)
            default: break
            }
        }
        guard let fault = secrets.fault else { return (edits.result, true) }
        let head = edits.prefix(upTo: fault.token).count
        rewriteRest(from: fault.token, valueName: fault.secret.map { bytes[$0.name] })
        let result = edits.result ?? bytes
        let rest = Array(result[head...])
        if let links = rewriting.rewritten(links: rest), links != rest { return (result[..<head] + links, false) }
        return (edits.result, false)
    }

    private mutating func rewriteString(_ range: Range<Int>, named name: Range<Int>) {
        let scheme = AuthorizationScheme.length(in: bytes[range])
        let secret = range.lowerBound + scheme..<range.upperBound
        let found = NamedSecret(JSONText.unescape(bytes[secret]), named: bytes[name], at: place(of: secret))
        guard let text = replacement(of: found, at: secret).map({ JSONText.escape($0) }) else { return }
        if !text.elementsEqual(bytes[secret]) { edits.replace(secret, with: text) }
    }

    private mutating func rewriteNumber(_ range: Range<Int>, named name: Range<Int>) {
        let found = NamedSecret(Array(bytes[range]), named: bytes[name], at: place(of: range), isNumber: true)
        if let text = replacement(of: found, at: range) { edits.replace(range, with: text) }
    }

    private func replacement(of secret: NamedSecret, at range: Range<Int>) -> [UInt8]? {
        if let value = left.first(where: { $0.upperBound >= range.upperBound }), value.lowerBound <= range.lowerBound {
            rewriting.pseudonyms.leave(secret)
            return nil
        }
        return rewriting.replacement(of: secret)
    }

    /// The place of a secret; the secrets of a document are found from left to right.
    private mutating func place(of range: Range<Int>) -> NamedSecret.Place {
        guard rewriting.pseudonyms.readsPaths else { return .json(pattern: nil) }
        if paths == nil { paths = TextPlaces(bytes, hits: []) }
        return .json(pattern: paths?.pattern(of: range.lowerBound))
    }

    /// Replaces the secrets in the URLs or the JSON of a string that is not secret as a whole.
    private mutating func rewriteSecrets(inString range: Range<Int>, named name: Range<Int>) {
        guard bytes[range].contains(where: { "{[?#/\\=:".utf8.contains($0) }) else { return }
        let text = JSONText.unescape(bytes[range])
        if JSONText.isLikely(text) {
            guard nesting > 0 else { return rewriteString(range, named: name) }
            let inner = JSONRewriting(text, by: rewriting, nesting: nesting - 1).run()
            if let bytes = inner.bytes { return edits.replace(range, with: JSONText.escape(bytes)) }
            // A search for assignments would find a value that the rules for JSON leave.
            if inner.isWhole, rewriting.allowed.json != nil { return }
        }
        if let rewritten = rewriting.rewritten(text: text, nesting: nesting), rewritten != text {
            edits.replace(range, with: JSONText.escape(rewritten))
        }
    }

    /// Replaces the secrets in text that is nearly JSON: incomplete, wrapped in a call, or only labelled as JSON.
    ///
    /// A name in quotes with a colon after it names the text behind. If `valueName` is not nil, the text starts with the value
    /// of a secret of this name.
    private mutating func rewriteRest(from start: Int, valueName: ArraySlice<UInt8>?) {
        var index = start
        if let valueName { index = rewriteLooseValue(at: index, named: valueName) }
        while let quote = bytes[index...].firstIndex(of: UInt8(ascii: "\"")) {
            index = quote + 1
            guard let end = bytes[index...].prefix(Self.keyLimit).firstIndex(of: UInt8(ascii: "\"")) else { continue }
            let colon = afterBlanks(end + 1)
            guard colon < bytes.endIndex, bytes[colon] == UInt8(ascii: ":"),
                let secrecy = rewriting.rules.jsonNames.secrecy(of: JSONText.unescape(bytes[index..<end]))
            else { continue }
            let value = afterBlanks(colon + 1)
            let isText = value < bytes.endIndex && bytes[value] == UInt8(ascii: "\"")
            index = secrecy == .any || isText ? rewriteLooseValue(at: value, named: bytes[index..<end]) : value
        }
    }

    /// Replaces the value at an index and returns its end.
    private mutating func rewriteLooseValue(at start: Int, named name: ArraySlice<UInt8>) -> Int {
        guard start < bytes.endIndex else { return bytes.endIndex }
        guard bytes[start] == UInt8(ascii: "\"") else {
            let end = bytes[start...].firstIndex { $0 <= 0x20 || ",}]\"".utf8.contains($0) } ?? bytes.endIndex
            let number = NamedSecret(Array(bytes[start..<end]), named: name, at: .json(pattern: nil), isNumber: true)
            if let text = rewriting.replacement(of: number) { edits.replace(start..<end, with: text) }
            return end
        }
        var end = start + 1
        while end < bytes.endIndex, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        end = min(end, bytes.endIndex)
        let content = bytes[start + 1..<end]
        let secret = content.dropFirst(AuthorizationScheme.length(in: content))
        let found = NamedSecret(JSONText.unescape(secret), named: name, at: .json(pattern: nil))
        let text = rewriting.replacement(of: found).map { JSONText.escape($0) }
        if let text, !text.elementsEqual(secret) { edits.replace(secret.indices, with: text) }
        return min(end + 1, bytes.endIndex)
    }

    private func afterBlanks(_ index: Int) -> Int {
        bytes[index...].firstIndex { $0 > 0x20 } ?? bytes.endIndex
    }
}
