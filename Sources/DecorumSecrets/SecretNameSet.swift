/// A set of names whose values are secret, compared without regard to letter case, blanks, hyphens and underscores.
///
/// In a name with parts, such as `user[password]` or `user.password`, each part is compared. With a leading asterisk, a
/// name stands for all names with that ending. Such a name is a guess, so numbers, `true`, `false` and `null` under it are
/// not secret, and neither are cursors of lists and keys of entries, as in `next_page_token` and `sort_key`.
package struct SecretNameSet: Sendable {
    /// The values of a name that are secret.
    package enum Secrecy: Sendable, Hashable {
        /// Texts, and objects and arrays with texts, since the name is a guess.
        case text
        /// Every value.
        case any
    }

    private var names: Set<String> = []
    private var endings: Set<[UInt8]> = []
    private var lastLetters = LastLetters()

    package init(_ names: some Sequence<String> = []) {
        for name in names { insert(name) }
    }

    package mutating func insert(_ name: String) {
        if let ending = Self.ending(name) {
            if endings.insert(ending).inserted { lastLetters.insert(ending: ending) }
        } else {
            let name = Self.normalized(name.utf8)
            if names.insert(name).inserted { lastLetters.insert(name: name.utf8) }
        }
    }

    package mutating func remove(_ name: String) {
        if let ending = Self.ending(name) {
            endings.remove(ending)
        } else {
            names.remove(Self.normalized(name.utf8))
        }
        lastLetters = LastLetters()
        for name in names { lastLetters.insert(name: name.utf8) }
        for ending in endings { lastLetters.insert(ending: ending) }
    }

    package var isEmpty: Bool { names.isEmpty && endings.isEmpty }

    /// The values of a name, in any spelling, that are secret; nil if no value is.
    package func secrecy(of name: ArraySlice<UInt8>) -> Secrecy? {
        guard !isEmpty else { return nil }
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
        guard let secrecy = secrecy(ofPart: name.utf8) else { return false }
        return Self.isSecret(Array(value.utf8)[...], secrecy)
    }

    package func secrecy(ofField name: String) -> Secrecy? { secrecy(ofPart: name.utf8) }

    /// Whether some value of a field with this name would be secret; lookalikes count too.
    package func mayBeSecret(field name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe lastLetters.mayMatch(name) else { return false }
        return unsafe lastLetters.endName(name) || !names.isEmpty && names.contains(Self.normalized(name))
    }

    /// Whether a name that ends in two bytes may be in the set.
    package func mayEnd(in before: UInt8, _ last: UInt8) -> Bool { lastLetters.mayMatch([before, last]) }

    private static func isSecret(_ value: ArraySlice<UInt8>, _ secrecy: Secrecy?) -> Bool {
        secrecy == .any || secrecy == .text && !isScalar(value)
    }

    private func secrecy(ofPart name: some BidirectionalCollection<UInt8>) -> Secrecy? {
        // Normalising a name is the slowest step, and most names have other endings.
        guard lastLetters.mayMatch(name) else { return nil }
        // An array, because reading the views of a string more than once is slow.
        let spelling = Array(name)
        let hasEnding = lastLetters.endName(spelling)
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
            "bos", "change", "cls", "continuation", "cursor", "delta", "mask", "next", "page",
            "pagination", "paging", "previous", "prev", "resume", "scroll", "sep", "skip", "starting", "start", "stop",
            "sync", "unk",
        ].map { $0 + "token" }
        + [
            "cache", "composite", "cursor", "dedup", "deduplication", "field", "foreign", "group",
            "idempotency", "index", "issue", "label", "last", "lookup", "natural", "next", "object", "page",
            "parent", "partition", "primary", "project", "public", "range", "routing", "shard", "sort",
            "start", "surrogate", "translation", "websocket",
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

    private static func separates(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: ".")
    }

    /// One form for all spellings of a name.
    static func normalized(_ name: some Collection<UInt8>) -> String {
        let bytes = name.filter { !LastLetters.isPassedOver($0) }.map(\.inLowerCase)
        // A name that consists only of ignored characters keeps them; otherwise it would equal every other such name.
        let normalized = String(decoding: bytes.isEmpty ? Array(name) : bytes, as: UTF8.self)
        return bytes.allSatisfy { $0 < 0x80 } ? normalized : normalized.lowercased()
    }
}

extension SecretNameSet: Hashable {
    // `lastLetters` follows from the names, but depends on the order of insertion.
    package static func == (one: Self, other: Self) -> Bool {
        one.names == other.names && one.endings == other.endings
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(names)
        hasher.combine(endings)
    }
}

extension SecretNameSet: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: String...) { self.init(elements) }
}

/// The last letters of a set of names, which are enough to see that most other names are not in it.
///
/// It makes this check fast: a stack checks each field of each request, and very few names are secret.
private struct LastLetters {
    /// For each last letter, a bit for each letter that comes before it in some name.
    private var pairs: [UInt32]
    /// The endings by their last letter.
    private var endings: [[[UInt8]]] = Array(repeating: [], count: 32)

    init() {
        // A byte that a spelling ignores, or that is not ASCII, may come before or after any letter.
        let ignored = [0x20, UInt8(ascii: "-"), UInt8(ascii: "_")]
        pairs = Array(repeating: ignored.reduce(0) { $0 | 1 << UInt32($1 & 31) }, count: 32)
        for byte in ignored { pairs[Int(byte & 31)] = .max }
    }

    /// Adds a normalised name by its last two letters.
    mutating func insert(name: some BidirectionalCollection<UInt8>) {
        guard let last = name.last else { return }
        pairs[Int(last & 31)] |= name.dropLast().last.map { 1 << UInt32($0 & 31) } ?? .max
    }

    /// Adds a normalised ending.
    mutating func insert(ending: [UInt8]) {
        insert(name: ending)
        if let last = ending.last { endings[Int(last & 31)].append(ending) }
    }

    /// Whether a name in any spelling may be one of these names, or end like one of them.
    func mayMatch(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        guard let last = name.last else { return false }
        guard let before = name.dropLast().last else { return true }
        return last >= 0x80 || before >= 0x80 || pairs[Int(last & 31)] >> UInt32(before & 31) & 1 == 1
    }

    /// Whether a name in any spelling ends in one of the endings.
    func endName(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        guard let last = name.last(where: { !Self.isPassedOver($0) }) else { return false }
        return endings[Int(last & 31)].contains { ending in
            var end = name.endIndex
            return ending.reversed().allSatisfy { byte in
                repeat {
                    guard end > name.startIndex else { return false }
                    end = name.index(before: end)
                } while Self.isPassedOver(name[end])
                return name[end].inLowerCase == byte
            }
        }
    }

    /// Whether the spelling of a name ignores a byte.
    static func isPassedOver(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
