/// A set of names whose values are secret, compared without regard to their spelling.
///
/// Letter case, blanks, hyphens and underscores are ignored: `access_token` also stands for `accessToken` and
/// `Access-Token`. In a name with parts, such as `user[password]` or `user.password`, each part is compared.
///
/// With a leading asterisk, a name stands for all names with that ending: `*token` for `userToken` and `token`. Such a
/// name is a guess. Therefore numbers, `true`, `false` and `null` under it are not secret, as in `max_tokens=100`, and
/// neither are cursors of lists and keys of entries, as in `next_page_token` and `sort_key`.
public struct SecretNames: Sendable {
    private var names: Set<String> = []
    private var endings: Set<[UInt8]> = []
    private var lastLetters = NameEndings()

    /// Creates a set of names.
    ///
    /// - Parameter names: The names, in any spelling.
    public init(_ names: some Sequence<String>) {
        for name in names { insert(name) }
    }

    /// Adds a name.
    ///
    /// - Parameter name: The name, in any spelling.
    public mutating func insert(_ name: String) {
        if let ending = Self.ending(name) {
            if endings.insert(ending).inserted { lastLetters.insert(ending: ending) }
        } else {
            let name = Self.normalized(name.utf8)
            if names.insert(name).inserted { lastLetters.insert(name: name.utf8) }
        }
    }

    /// Removes a name.
    ///
    /// - Parameter name: The name, in any spelling.
    public mutating func remove(_ name: String) {
        if let ending = Self.ending(name) {
            endings.remove(ending)
        } else {
            names.remove(Self.normalized(name.utf8))
        }
        lastLetters = NameEndings()
        for name in names { lastLetters.insert(name: name.utf8) }
        for ending in endings { lastLetters.insert(ending: ending) }
    }

    /// Returns whether a name, or a part of it, is in the set or has an ending from the set.
    ///
    /// - Parameter name: The name, in any spelling.
    /// - Returns: Whether its value is secret.
    public func contains(_ name: String) -> Bool {
        secrecy(of: Array(name.utf8)) != nil
    }

    /// Whether there are no names.
    public var isEmpty: Bool { names.isEmpty && endings.isEmpty }

    /// The values of a name that are secret.
    public enum Secrecy: Sendable, Hashable {
        /// Texts, and objects and arrays with texts. Numbers, `true`, `false` and `null` are not secret, since the name
        /// is a guess.
        case text
        /// Every value.
        case any
    }

    /// Returns the values of a name that are secret.
    ///
    /// - Parameter name: The bytes of the name, in any spelling.
    /// - Returns: The values that are secret; nil when no value is secret.
    public func secrecy(of name: some BidirectionalCollection<UInt8>) -> Secrecy? {
        guard !isEmpty else { return nil }
        if let secrecy = secrecy(ofPart: name) { return secrecy }
        guard name.contains(where: Self.separates) else { return nil }
        return name.split(whereSeparator: Self.separates).lazy.compactMap { secrecy(ofPart: $0) }.first
    }

    /// Returns whether the value of a name is secret, in a format that does not distinguish texts from numbers.
    ///
    /// - Parameters:
    ///   - value: The bytes of the value.
    ///   - name: The bytes of the name, in any spelling.
    /// - Returns: Whether the value is secret.
    public func isSecret(
        _ value: some BidirectionalCollection<UInt8>, of name: some BidirectionalCollection<UInt8>
    ) -> Bool {
        Self.isSecret(value, secrecy(of: name))
    }

    /// Returns whether the value of a field is secret; the name of a field has no parts.
    func isSecret(
        _ value: some BidirectionalCollection<UInt8>, ofField name: some BidirectionalCollection<UInt8>
    ) -> Bool {
        Self.isSecret(value, secrecy(ofPart: name))
    }

    /// Whether some value of a field with this name would be secret; lookalikes count too.
    func mayBeSecret(field name: some BidirectionalCollection<UInt8>) -> Bool {
        guard lastLetters.mayMatch(name) else { return false }
        return lastLetters.endName(name) || !names.isEmpty && names.contains(Self.normalized(name))
    }

    /// Whether a name that ends in two bytes may be in the set.
    func mayEnd(in before: UInt8, _ last: UInt8) -> Bool { lastLetters.mayMatch([before, last]) }

    private static func isSecret(_ value: some BidirectionalCollection<UInt8>, _ secrecy: Secrecy?) -> Bool {
        switch secrecy {
        case nil: false
        case .any: true
        case .text: !isScalar(value)
        }
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
        let bytes = normalized.utf8
        let isLookalike =
            Self.wholeLookalikes.contains(normalized)
            || Self.lookalikes.contains { bytes.suffix($0.utf8.count).elementsEqual($0.utf8) }
        return isLookalike ? nil : .text
    }

    /// Whether a character is ignored in the spelling of a name.
    static func isPassedOver(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
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

    private static func isScalar(_ value: some BidirectionalCollection<UInt8>) -> Bool {
        if ["true", "false", "null"].contains(where: { value.elementsEqual($0.utf8) }) { return true }
        return value.count <= 15 && value.contains { (0x30...0x39).contains($0) }
            && value.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    }

    private static func ending(_ name: String) -> [UInt8]? {
        guard name.utf8.count > 1, name.utf8.first == UInt8(ascii: "*") else { return nil }
        return Array(normalized(name.utf8.dropFirst()).utf8)
    }

    private static func separates(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: ".")
    }

    /// Returns one form for all spellings of a name.
    static func normalized(_ name: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.count)
        var isASCII = true
        for byte in name {
            switch byte {
            case _ where isPassedOver(byte): continue
            case 0x41...0x5A: bytes.append(byte | 0x20)
            default: bytes.append(byte)
            }
            isASCII = isASCII && byte < 0x80
        }
        // A name that consists only of ignored characters keeps them; otherwise it would equal every other such name.
        let normalized = String(decoding: bytes.isEmpty ? Array(name) : bytes, as: UTF8.self)
        return isASCII ? normalized : normalized.lowercased()
    }
}

extension SecretNames: Hashable {
    // `lastLetters` is not compared: it follows from the names, but depends on the order of insertion.
    /// Whether two sets hold the same names and the same endings.
    public static func == (lhs: SecretNames, rhs: SecretNames) -> Bool {
        lhs.names == rhs.names && lhs.endings == rhs.endings
    }

    /// Hashes the names and the endings.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(names)
        hasher.combine(endings)
    }
}

extension SecretNames: ExpressibleByArrayLiteral {
    /// Creates a set of names.
    ///
    /// - Parameter elements: The names, in any spelling.
    public init(arrayLiteral elements: String...) {
        self.init(elements)
    }
}
