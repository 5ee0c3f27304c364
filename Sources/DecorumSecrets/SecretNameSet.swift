package import HTTPTypes

/// A set of names whose values are secret, and of their endings, as `SecretNames` of the core documents it.
///
/// The spelling does not count: letter case, blanks, hyphens and underscores.
package struct SecretNameSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// The values of a name that are secret.
    package enum Secrecy: Sendable, Hashable {
        /// Texts, and objects and arrays with texts, since the name is a guess.
        case text
        /// Every value.
        case any
    }

    private var names: Set<String> = []
    /// The endings by their last letter, without the bits by which its cases differ, in the order of their bytes.
    private var endings: [[[UInt8]]] = Array(repeating: [], count: 0x60)
    /// For each last letter, likewise, a bit for each letter before it in some name.
    ///
    /// It shows that most other names are not in the set: a stack checks each field of each request.
    private var pairs = Self.noPairs

    package init(_ names: some Sequence<String> = []) {
        for name in names { insert(name) }
    }

    package init(arrayLiteral elements: String...) { self.init(elements) }

    package mutating func insert(_ name: String) {
        guard let ending = Self.ending(name), let last = ending.last.map({ Int($0 & 0x5F) }) else {
            let name = Self.normalized(name.utf8)
            names.insert(name)
            return notePair(of: name.utf8)
        }
        guard !endings[last].contains(ending) else { return }
        endings[last] = (endings[last] + [ending]).sorted { $0.lexicographicallyPrecedes($1) }
        notePair(of: ending)
    }

    package mutating func remove(_ name: String) {
        if let ending = Self.ending(name) {
            endings = endings.map { $0.filter { $0 != ending } }
        } else {
            names.remove(Self.normalized(name.utf8))
        }
        pairs = Self.noPairs
        for name in names { notePair(of: name.utf8) }
        for ending in endings.joined() { notePair(of: ending) }
    }

    private mutating func notePair(of name: some BidirectionalCollection<UInt8>) {
        guard let last = name.last else { return }
        // A blank, a hyphen and an underscore, whose lowest bits are 0, 13 and 31, may come before or after any letter.
        let ignored: UInt32 = 1 << 0 | 1 << 13 | 1 << 31
        pairs[Int(last & 0x5F)] |= name.dropLast().last.map { 1 << UInt32($0 & 31) | ignored } ?? .max
    }

    /// The pairs of an empty set.
    private static let noPairs: [UInt32] = (0..<0x60).map { [0, 0x0D, 0x5F].contains($0) ? .max : 0 }

    package var isEmpty: Bool { names.isEmpty && endings.allSatisfy { $0.isEmpty } }

    /// The values of a name, in any spelling, that are secret; nil if no value is.
    package func secrecy(of name: ArraySlice<UInt8>) -> Secrecy? {
        if let secrecy = secrecy(ofPart: name) { return secrecy }
        guard name.contains(where: Self.separates) else { return nil }
        return name.split(whereSeparator: Self.separates).lazy.compactMap { secrecy(ofPart: $0) }.first
    }

    package func secrecy(of name: [UInt8]) -> Secrecy? { secrecy(of: name[...]) }

    /// Whether the value of a name is secret, in a format that does not distinguish texts from numbers.
    package func isSecret(_ value: ArraySlice<UInt8>, of name: ArraySlice<UInt8>) -> Bool {
        Self.isSecret(value, secrecy(of: name))
    }

    /// Whether the value of a field is secret; the name of a field has no parts.
    package func isSecret(_ value: String, ofField name: String) -> Bool {
        // Most names differ in their last letters, and only the others need the value.
        secrecy(ofField: name).map { Self.isSecret(Array(value.utf8)[...], $0) } ?? false
    }

    package func secrecy(ofField name: String) -> Secrecy? { secrecy(ofPart: name.utf8) }

    /// Whether some value of a field with this name would be secret; lookalikes count too.
    package func mayBeSecret(_ field: HTTPField.Name) -> Bool {
        // A stack calls this for each field of each request, and reading the views of a string backwards is slow.
        let isFound = unsafe field.canonicalName.utf8.withContiguousStorageIfAvailable { name in
            unsafe mayMatch(name) && (hasEnding(name) || !names.isEmpty && names.contains(Self.normalized(name)))
        }
        return isFound ?? true
    }

    /// Whether a name that ends in two bytes may be in the set.
    package func mayEnd(in before: UInt8, _ last: UInt8) -> Bool {
        last >= 0x80 || before >= 0x80 || pairs[Int(last & 0x5F)] >> UInt32(before & 31) & 1 == 1
    }

    private func mayMatch(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        guard let last = name.last else { return false }
        return name.dropLast().last.map { mayEnd(in: $0, last) } ?? true
    }

    /// Whether a name in any spelling ends in one of the endings.
    private func hasEnding(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        guard let last = name.last(where: { !Self.isIgnored($0) }) else { return false }
        return endings[Int(last & 0x5F)].contains { ending in
            var end = name.endIndex
            return ending.reversed().allSatisfy { byte in
                repeat {
                    guard end > name.startIndex else { return false }
                    end = name.index(before: end)
                } while Self.isIgnored(name[end])
                return name[end].inLowerCase == byte
            }
        }
    }

    private static func isSecret(_ value: ArraySlice<UInt8>, _ secrecy: Secrecy?) -> Bool {
        secrecy == .any || secrecy == .text && !isScalar(value)
    }

    private func secrecy(ofPart name: some BidirectionalCollection<UInt8>) -> Secrecy? {
        // Normalising a name is the slowest step, and most names have other endings.
        guard mayMatch(name) else { return nil }
        // An array, because reading the views of a string more than once is slow.
        let spelling = Array(name)
        let hasEnding = hasEnding(spelling)
        guard hasEnding || !names.isEmpty else { return nil }
        let normalized = Self.normalized(spelling)
        if names.contains(normalized) { return .any }
        guard hasEnding else { return nil }
        let isLookalike =
            Self.wholeLookalikes.contains(normalized)
            || Self.lookalikes.contains { normalized.utf8.suffix($0.utf8.count).elementsEqual($0.utf8) }
        return isLookalike ? nil : .text
    }

    /// The endings of names that look like names of secrets but are not: other words, positions in lists, marks in texts,
    /// keys of entries, and the field that requests a signature (RFC 9421, section 5.1).
    private static let lookalikes =
        [
            "acceptsignature", "boardingpass", "bypass", "compass", "overpass", "surpass", "trespass", "underpass",
            "stoptokens",
        ]
        + [
            "bos", "change", "cls", "continuation", "cursor", "delta", "mask", "next", "page", "pagination", "paging",
            "previous", "prev", "resume", "scroll", "sep", "skip", "starting", "start", "stop", "sync", "unk",
        ].map { $0 + "token" }
        + [
            "cache", "composite", "cursor", "dedup", "deduplication", "field", "foreign", "group", "idempotency",
            "index", "issue", "label", "last", "lookup", "natural", "next", "object", "page", "parent", "partition",
            "primary", "project", "public", "range", "routing", "shard", "sort", "start", "surrogate", "translation",
            "websocket",
        ].map { $0 + "key" }

    /// Lookalikes only as whole names, since names of secrets end like them: `backend_key`, `daemon_key`, `videos_token`.
    private static let wholeLookalikes: Set<String> = [
        "endkey", "hotkey", "monkey", "rowkey", "sitekey", "endtoken", "eostoken", "padtoken",
    ]

    private static func isScalar(_ value: ArraySlice<UInt8>) -> Bool {
        if ["true", "false", "null"].contains(where: { value.elementsEqual($0.utf8) }) { return true }
        return value.count <= 15 && value.contains(where: \.isDigit)
            && value.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    }

    private static func ending(_ name: String) -> [UInt8]? {
        guard name.utf8.count > 1, name.utf8.first == UInt8(ascii: "*") else { return nil }
        return Array(normalized(name.utf8.dropFirst()).utf8)
    }

    /// Whether a byte is a bracket or a period, which separate the parts of a name.
    private static func separates(_ byte: UInt8) -> Bool { byte == 0x5B || byte == 0x5D || byte == 0x2E }

    /// One form for all spellings of a name.
    static func normalized(_ name: some Collection<UInt8>) -> String {
        let bytes = name.filter { !isIgnored($0) }.map(\.inLowerCase)
        // A name that consists only of ignored characters keeps them; otherwise it would equal every other such name.
        let normalized = String(decoding: bytes.isEmpty ? Array(name) : bytes, as: UTF8.self)
        return bytes.allSatisfy { $0 < 0x80 } ? normalized : normalized.lowercased()
    }

    /// Whether the spelling of a name ignores a byte: a blank, a hyphen or an underscore.
    private static func isIgnored(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x2D || byte == 0x5F }
}

/// The names and shapes by which secrets are found, as a redaction of the core documents them.
package struct SecretRules: Sendable, Hashable {
    package var fields: Set<HTTPField.Name> = []
    package var fieldNames: SecretNameSet = []
    package var queryItems: SecretNameSet = []
    package var json = JSONMatcher([])
    package var formNames: SecretNameSet = []
    package var opaqueNames: SecretNameSet = []
    package var userinfo = false
    package var paths = false
    package var tokens = false

    package init() {}

    /// The maximum depth of nested encodings that are searched, such as JSON in a string of JSON.
    package static let nestingLimit = 3

    /// The names at any depth of JSON, which also count in markup, tables and lines of text.
    package var jsonNames: SecretNameSet { json.deepNames }

    /// Whether any secret could be found in content.
    package var looksIntoContent: Bool {
        !json.isEmpty || !queryItems.isEmpty || !formNames.isEmpty || userinfo || tokens || paths
    }

    /// The values that are secret in a pair of a name and a value: by the names of JSON or of fields.
    func secrecy(ofPairNamed name: [UInt8]) -> SecretNameSet.Secrecy? {
        if let secrecy = jsonNames.secrecy(of: name) { return secrecy }
        guard let field = HTTPField.Name(String(decoding: name, as: UTF8.self)) else { return nil }
        return fields.contains(field) ? .any : fieldNames.secrecy(ofField: field.canonicalName)
    }
}
