public import Decorum
import DecorumArchive
import Foundation
public import HTTPTypes

/// A URL in its normal form, which is equal for equivalent URLs (RFC 3986, section 6.2).
///
/// Scheme and host are in lower case, the default port and the fragment are removed, percent-encoding is the minimum
/// needed, and query items are ordered by their names; items of one name keep their order.
enum URLKey {
    static func key(of url: String, ignoring names: SecretNames) -> [UInt8] {
        var key: [UInt8] = []
        append(url, ignoring: names, to: &key)
        return key
    }

    static func append(_ url: String, ignoring names: SecretNames, to key: inout [UInt8]) {
        var url = url
        // The pointer does not escape.
        url.withUTF8 { unsafe append(Slice(base: $0, bounds: $0.indices), ignoring: names, to: &key) }
    }

    private static func append<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, ignoring names: SecretNames, to key: inout [UInt8]
    ) where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let authority = authority(in: bytes[..<end])
        let query = bytes[authority.upperBound..<end].firstIndex(of: UInt8(ascii: "?")) ?? end

        let scheme = bytes[..<authority.lowerBound]
        for byte in scheme { key.append(byte.inLowerCase) }
        for byte in withoutDefaultPort(bytes[authority], scheme: scheme) { key.append(byte.inLowerCase) }
        if query == authority.upperBound, !authority.isEmpty { key.append(UInt8(ascii: "/")) }
        append(bytes[authority.upperBound..<query], isQuery: false, to: &key)
        guard query < end else { return }
        key.append(UInt8(ascii: "?"))
        let start = key.count
        appendItems(bytes[(query + 1)..<end], ignoring: names, to: &key)
        if key.count == start { key.removeLast() }
    }

    static func target(of url: String) -> String {
        let bytes = Array(url.utf8)
        return String(decoding: bytes[authority(in: bytes[...]).upperBound...], as: UTF8.self)
    }

    private static func authority<Bytes: RandomAccessCollection<UInt8>>(
        in url: Bytes
    ) -> Range<Int> where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        let start = url.indices.first { index in
            url[index] == UInt8(ascii: "/") && index + 1 < url.endIndex && url[index + 1] == UInt8(ascii: "/")
        }
        guard let start else { return url.startIndex..<url.startIndex }
        let rest = url[(start + 2)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? url.endIndex
        return rest.startIndex..<end
    }

    private static func withoutDefaultPort<Bytes: RandomAccessCollection<UInt8>>(
        _ authority: Bytes, scheme: Bytes
    ) -> Bytes where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")) else { return authority }
        let port = authority[(colon + 1)...]
        let name = scheme.prefix { $0 != UInt8(ascii: ":") }.lazy.map(\.inLowerCase)
        let isDefault =
            port.isEmpty || port.elementsEqual("443".utf8) && name.elementsEqual("https".utf8)
            || port.elementsEqual("80".utf8) && name.elementsEqual("http".utf8)
        return isDefault ? authority[..<colon] : authority
    }

    /// Appends the items of a query or a form, ordered by their names, without the ignored ones.
    static func appendItems<Bytes: RandomAccessCollection<UInt8>>(
        _ query: Bytes, ignoring names: SecretNames, to key: inout [UInt8]
    ) where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        var items: [(name: Range<Int>, item: Range<Int>)] = []
        items.reserveCapacity(4)
        let start = key.count
        var rest = query
        while let first = rest.first {
            let item = rest.prefix { $0 != UInt8(ascii: "&") }
            rest = first == UInt8(ascii: "&") ? rest.dropFirst() : rest[item.endIndex...]
            guard !item.isEmpty else { continue }
            let end = key.count
            if !items.isEmpty { key.append(UInt8(ascii: "&")) }
            let place = key.count
            append(item, isQuery: true, to: &key)
            let name = place..<(key[place...].firstIndex(of: UInt8(ascii: "=")) ?? key.count)
            if names.isEmpty || !names.contains(String(decoding: key[name], as: UTF8.self)) {
                items.append((name, place..<key.count))
            } else {
                key.removeSubrange(end...)
            }
        }
        let isOrdered = zip(items, items.dropFirst()).allSatisfy { one, other in
            !key[other.name].lexicographicallyPrecedes(key[one.name])
        }
        guard !isOrdered else { return }
        let text = key
        key.removeSubrange(start...)
        // Sorting is stable, so items of one name keep their order.
        items.sort { text[$0.name].lexicographicallyPrecedes(text[$1.name]) }
        for item in items {
            if key.count > start { key.append(UInt8(ascii: "&")) }
            key += text[item.item]
        }
    }

    private static func append<Bytes: RandomAccessCollection<UInt8>>(
        _ part: Bytes, isQuery: Bool, to key: inout [UInt8]
    ) where Bytes.Index == Int {
        var index = part.startIndex
        while index < part.endIndex {
            var byte = part[index]
            index += 1
            if byte == UInt8(ascii: "%"), index + 1 < part.endIndex,
                let high = PercentCoding.hexDigit(part[index]), let low = PercentCoding.hexDigit(part[index + 1])
            {
                byte = high << 4 | low
                index += 2
                byte.isUnreserved ? key.append(byte) : encode(byte, to: &key)
            } else if isQuery, byte == UInt8(ascii: "+") {
                encode(0x20, to: &key)
            } else if byte.isAllowedInURL {
                key.append(byte)
            } else {
                encode(byte, to: &key)
            }
        }
    }

    private static func encode(_ byte: UInt8, to key: inout [UInt8]) {
        key.append(UInt8(ascii: "%"))
        key.append(Self.digits[Int(byte >> 4)])
        key.append(Self.digits[Int(byte & 15)])
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}

extension UInt8 {
    fileprivate var inLowerCase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    fileprivate var isUnreserved: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether the byte stands in a URL as it is.
    var isAllowedInURL: Bool {
        switch self {
        case 0...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: true
        }
    }
}

/// Content in a normal form, which is equal for content with the same meaning.
///
/// JSON is compared by value, without the order of members, the blanks and the spelling of numbers; a form by its
/// items, without their order; a multipart body without its boundary; all else byte by byte.
enum BodyKey {
    static func key(of body: Data, mediaType: String?, ignoring paths: Redaction) -> [UInt8] {
        guard !body.isEmpty else { return [] }
        let essence = (mediaType ?? "").mediaTypeEssence
        if essence == "application/x-www-form-urlencoded" { return form(body) }
        if essence.hasPrefix("multipart/") {
            let bytes = Array(body)
            return MultipartLayout(bytes, mediaType: mediaType ?? "").map { multipart(bytes, $0) } ?? bytes
        }
        // Many clients send JSON without its media type.
        if let first = body.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            if let value = try? JSONValue(parsing: Array(json(body, ignoring: paths))) {
                var key = Array("json ".utf8)
                append(value, to: &key)
                return key
            }
        }
        return Array(body)
    }

    /// JSON with the same text at each ignored place.
    static func json(_ body: Data, ignoring paths: Redaction) -> Data {
        paths.jsonPaths.isEmpty ? body : paths.applied(to: body, mediaType: "application/json")
    }

    private static func append(_ value: JSONValue, to key: inout [UInt8]) {
        switch value {
        case .null: key += "null".utf8
        case .bool(let bool): key += (bool ? "true" : "false").utf8
        case .number(let digits): key += number(digits).utf8
        case .string(let text): key += JSONText.quoted(text)
        case .array(let elements):
            key.append(UInt8(ascii: "["))
            for element in elements {
                append(element, to: &key)
                key.append(UInt8(ascii: ","))
            }
            key.append(UInt8(ascii: "]"))
        case .object(let members):
            key.append(UInt8(ascii: "{"))
            // Members of one name keep their order, because readers take the first or the last.
            let sorted = members.enumerated().sorted {
                $0.element.name == $1.element.name ? $0.offset < $1.offset : $0.element.name < $1.element.name
            }
            for (_, member) in sorted {
                key += JSONText.quoted(member.name)
                append(member.value, to: &key)
                key.append(UInt8(ascii: ","))
            }
            key.append(UInt8(ascii: "}"))
        }
    }

    /// The digits that all spellings of a number share; a number too large to be normalized keeps its digits.
    static func number(_ digits: String) -> String {
        if let integer = Int(digits) { return String(integer) }
        guard let double = Double(digits), double.magnitude < 0x1p53 else { return digits }
        return Int(exactly: double).map { String($0) } ?? String(double)
    }

    private static func form(_ body: Data) -> [UInt8] {
        var key = Array("form ".utf8)
        URLKey.appendItems(Array(body)[...], ignoring: SecretNames([]), to: &key)
        return key
    }

    private static func multipart(_ body: [UInt8], _ layout: MultipartLayout) -> [UInt8] {
        var key = Array("multipart ".utf8)
        key.reserveCapacity(body.count)
        var copied = 0
        for delimiter in layout.delimiters {
            key += body[copied..<delimiter.lowerBound]
            key += "--boundary".utf8
            copied = delimiter.upperBound
        }
        return key + body[copied...]
    }
}

/// Recorded keys with the placeholder of a secret, which keys with the secret in its place match.
///
/// A secret without a name, as in `/bot123456:ABC/getMe`, is recognized only when a name marks it somewhere else, which
/// may be later. The recording then has a placeholder there, and the replayed request still has the secret. The
/// placeholder therefore matches any one segment of a path, value of a query, or string.
struct KeyTemplates {
    /// The bytes that delimit a secret.
    private static let delimiters = Array("/?&\"\n\0".utf8)
    private static let placeholder = Array(Pseudonym.erasedText.utf8)

    /// For each set of parts that hold a placeholder, the keys by their other parts.
    private var keys: [(parts: Set<Int>, byRest: [[UInt8]: [[UInt8]]])] = []

    init(_ keys: some Sequence<[UInt8]>) {
        var numbers: [Set<Int>: Int] = [:]
        for key in keys where Self.holdsPlaceholder(key[...]) {
            let parts = Set(Self.parts(of: key).enumerated().filter { Self.holdsPlaceholder($1) }.map(\.offset))
            guard !parts.isEmpty, let rest = Self.rest(of: key, without: parts) else { continue }
            let number = numbers[parts, default: self.keys.count]
            if number == self.keys.count {
                numbers[parts] = number
                self.keys.append((parts, [:]))
            }
            self.keys[number].byRest[rest, default: []].append(key)
        }
    }

    /// The keys that become this one when a text of one byte or more replaces each placeholder.
    func matches(_ key: [UInt8]) -> [[UInt8]] {
        keys.flatMap { parts, byRest -> [[UInt8]] in
            guard let candidates = Self.rest(of: key, without: parts).flatMap({ byRest[$0] }) else { return [] }
            // Both have the same parts, except for the hidden ones.
            return candidates.filter { template in
                zip(Self.parts(of: template), Self.parts(of: key)).allSatisfy { part, other in
                    part.elementsEqual(other) || Self.matches(part: part, other)
                }
            }
        }
    }

    /// Whether two keys of one rule agree: they are the same, except for secrets in place of recorded placeholders.
    static func agree(recorded: [UInt8], _ live: [UInt8]) -> Bool {
        recorded == live || holdsPlaceholder(recorded[...]) && !KeyTemplates([recorded]).matches(live).isEmpty
    }

    /// Whether a text is equal to a recorded one, except for the secret in place of its placeholder.
    static func matches(recorded: String, _ live: String) -> Bool {
        let (recorded, live) = (Array(recorded.utf8), Array(live.utf8))
        return holdsPlaceholder(recorded[...]) && matches(part: recorded[...], live[...])
    }

    /// The text without possible secrets: each part that is not recorded, but matches one with a placeholder, is
    /// replaced by that one.
    static func hiding(_ text: String, as recorded: some Sequence<String>) -> String {
        let parts = Set(recorded.flatMap { Self.parts(of: Array($0.utf8)) })
        let templates = parts.filter { holdsPlaceholder($0) }
        guard !templates.isEmpty else { return text }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        for part in Self.parts(of: bytes) {
            let template = parts.contains(part) ? nil : templates.first { matches(part: $0, part) }
            output += template ?? part
            if part.endIndex < bytes.count { output.append(bytes[part.endIndex]) }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The key with some parts empty; nil if it has fewer parts.
    private static func rest(of key: [UInt8], without hidden: Set<Int>) -> [UInt8]? {
        var rest: [UInt8] = []
        rest.reserveCapacity(key.count)
        var number = 0
        var left = hidden.count
        for part in parts(of: key) {
            if hidden.contains(number) { left -= 1 } else { rest += part }
            if part.endIndex < key.count { rest.append(key[part.endIndex]) }
            number += 1
        }
        return left == 0 ? rest : nil
    }

    private static func parts(of key: [UInt8]) -> [ArraySlice<UInt8>] {
        key.split(omittingEmptySubsequences: false, whereSeparator: delimiters.contains)
    }

    private static func holdsPlaceholder(_ part: ArraySlice<UInt8>) -> Bool {
        place(of: placeholder, in: part) != nil
    }

    private static func matches(part template: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard var hole = place(of: placeholder, in: template) else { return template.elementsEqual(text) }
        guard text.starts(with: template[..<hole.lowerBound]) else { return false }
        var rest = text.dropFirst(hole.lowerBound - template.startIndex)
        while let next = place(of: placeholder, in: template[hole.upperBound...]) {
            guard let found = place(of: Array(template[hole.upperBound..<next.lowerBound]), in: rest.dropFirst()) else {
                return false
            }
            rest = rest[found.upperBound...]
            hole = next
        }
        let end = template[hole.upperBound...]
        return rest.count > end.count && rest.suffix(end.count).elementsEqual(end)
    }

    private static func place(of needle: [UInt8], in text: ArraySlice<UInt8>) -> Range<Int>? {
        guard let first = needle.first else { return text.startIndex..<text.startIndex }
        var rest = text
        while let start = rest.firstIndex(of: first) {
            if rest[start...].starts(with: needle) { return start..<start + needle.count }
            rest = rest[(start + 1)...]
        }
        return nil
    }
}

/// One aspect in which a request has to agree with a recorded one.
///
/// A rule is a function from a request to a key, so an interaction is looked up without a search, and the key can be
/// shown if it does not agree. Requests are redacted before any rule is applied.
///
/// ```swift
/// let rules = CassetteRules(matching: [.method, .url(ignoring: "ts"), .body, .header(.accept)])
/// ```
public struct MatchingRule: Sendable {
    enum Subject: Sendable {
        case method
        case url
        case body
        case other
    }

    /// The name of the rule in messages.
    public let name: String
    let subject: Subject
    /// The places of JSON content that the rule ignores.
    let ignoredPaths: Redaction
    let appendKey: Key

    typealias Key = @Sendable (_ request: RecordedRequest, _ key: inout [UInt8]) -> Void

    private init(
        _ name: String, _ subject: Subject, ignoring paths: Redaction = .none, appendKey: @escaping Key
    ) {
        self.name = name
        self.subject = subject
        ignoredPaths = paths
        self.appendKey = appendKey
    }

    /// Whether the fields of a request that has no content matter to the rule.
    var readsFields: Bool { subject == .other }

    /// Whether the rule reads only the method or the URL.
    var readsTargetAlone: Bool { subject == .method || subject == .url }

    func key(_ request: RecordedRequest) -> [UInt8] {
        var key: [UInt8] = []
        appendKey(request, &key)
        return key
    }

    /// Creates a custom rule.
    ///
    /// - Parameters:
    ///   - name: The name of the rule in messages.
    ///   - key: Computes the value that two requests must have in common; it must always return the same value for the
    ///     same request.
    public init(_ name: String, key: @escaping @Sendable (RecordedRequest) -> String) {
        self.init(name, .other) { $1 += key($0).utf8 }
    }

    /// The methods are the same.
    public static let method = MatchingRule("method", .method) { $1 += $0.method.utf8 }

    /// The URLs are equivalent: letter case of scheme and host, default port, needless percent-encoding, fragment and
    /// the order of query items of different names are ignored.
    public static let url = url(ignoring: [])

    /// The paths and the queries are equivalent, as by ``url``, whatever the origins.
    ///
    /// Use it in place of ``url`` for a local server whose port changes from run to run. In replay, a URL of the recorded origin in
    /// `Location`, `Content-Location` and `Link` then gets the origin of the request that is answered, so that a client follows it
    /// there. URLs in bodies stay as they were recorded.
    public static let pathAndQuery = url(ignoring: [], atAnyOrigin: true)

    /// The bodies are equivalent: JSON by value, forms by their items, multipart without the boundary, else each byte.
    public static let body = body(ignoring: [])

    /// The URLs are equivalent, except for some query items.
    ///
    /// - Parameter names: The names of the items to ignore; see `SecretNames` for how names are compared.
    /// - Returns: A rule.
    public static func url(ignoring names: String...) -> MatchingRule { url(ignoring: names) }

    /// The bodies are equivalent, except for some places in JSON.
    ///
    /// - Parameter paths: The places whose values are ignored, as in `**.timestamp`.
    /// - Returns: A rule.
    public static func body(ignoring paths: JSONPattern...) -> MatchingRule {
        body(ignoring: paths)
    }

    /// A header field is the same in both, or in neither.
    ///
    /// - Parameter name: The name of the field.
    /// - Returns: A rule.
    public static func header(_ name: HTTPField.Name) -> MatchingRule {
        MatchingRule("header \(name.rawName)", .other) { request, key in
            key += request.fields[values: name].joined(separator: "\n").utf8
        }
    }

    package static func url(ignoring names: [String], atAnyOrigin isMoved: Bool = false) -> MatchingRule {
        let names = SecretNames(names)
        return MatchingRule(isMoved ? "path and query" : "url", .url) { request, key in
            let url = isMoved ? "http://any" + URLKey.target(of: request.url) : request.url
            URLKey.append(url, ignoring: names, to: &key)
        }
    }

    package static func body(ignoring paths: [JSONPattern]) -> MatchingRule {
        var ignored = Redaction.none
        ignored.jsonPaths = Set(paths)
        return MatchingRule("body", .body, ignoring: ignored) { [ignored] request, key in
            guard !request.body.bytes.isEmpty else { return }
            key += BodyKey.key(of: request.body.bytes, mediaType: request.fields[.contentType], ignoring: ignored)
        }
    }
}

extension CassetteRules {
    /// A set of hosts.
    ///
    /// ```swift
    /// var rules = CassetteRules()
    /// rules.passedHosts = ["*.telemetry.example", "localhost"]
    /// ```
    ///
    /// A name means that host alone, with any port. `*.example.com` means every host below `example.com`. Letter case does
    /// not matter.
    public struct Hosts: Sendable, Hashable, ExpressibleByArrayLiteral {
        private var names: Set<String> = []
        private var domains: [String] = []

        /// This machine: `localhost`, `127.0.0.1` and `::1`.
        public static let loopback: Hosts = ["localhost", "*.localhost", "127.0.0.1", "::1"]

        /// Creates a set of the names of hosts, and of domains with `*.` before them.
        public init(_ names: some Sequence<String>) {
            for name in names.lazy.map({ $0.lowercased() }) {
                if name.hasPrefix("*.") { domains.append(String(name.dropFirst())) } else { self.names.insert(name) }
            }
        }

        /// Creates a set of the names of hosts, and of domains with `*.` before them.
        public init(arrayLiteral elements: String...) { self.init(elements) }

        var isEmpty: Bool { names.isEmpty && domains.isEmpty }

        /// Whether a host, which is given without a port, or a domain above it is in the set.
        package func contains(_ host: String) -> Bool {
            let host = host.lowercased()
            return names.contains(host) || domains.contains { host.hasSuffix($0) && host.utf8.count > $0.utf8.count }
        }

        func contains(_ request: borrowing HTTPRequest) -> Bool {
            guard !isEmpty, let authority = request.authority else { return false }
            return contains(Self.host(of: authority))
        }

        /// The host in an authority (RFC 3986, section 3.2).
        private static func host(of authority: String) -> String {
            let rest = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            if rest.hasPrefix("[") { return String(rest.dropFirst().prefix { $0 != "]" }) }
            return String(rest.prefix { $0 != ":" })
        }
    }
}
