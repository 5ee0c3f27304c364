public import Decorum
package import Foundation
import HTTPTypes

/// The kind of a possible secret in a cassette.
///
/// The kinds are an open set. A token of a service has the name of the service, as in `SecretKind("GitHub token")`.
public struct SecretKind: Sendable, Hashable {
    /// The name of the kind, fit for a sentence: `GitHub token`.
    public let name: String

    /// Creates a kind with the name that a ``SecretFoundError`` lists.
    public init(_ name: String) { self.name = name }

    /// A secret key of Amazon Web Services, which is random Base64 of 40 characters.
    public static let awsSecretKey = SecretKind("AWS secret key")
    /// A user name and a password encoded as HTTP's basic scheme does.
    public static let basicCredentials = SecretKind(TokenSearch.basicCredentials)
    /// A token behind the word `Bearer`.
    public static let bearerToken = SecretKind(TokenSearch.bearerToken)
    /// The number of a payment card.
    public static let cardNumber = SecretKind(TokenSearch.cardNumber)
    /// A text in Base64 that holds a token, or JSON with a secret.
    public static let encodedToken = SecretKind("encoded token")
    /// The value of an environment variable that is named like a secret.
    public static let environment = SecretKind("value of an environment variable")
    /// A signed or encrypted token of JSON.
    public static let jsonWebToken = SecretKind(TokenSearch.jsonWebToken)
    /// A secret that a name marks elsewhere, in content in which nothing can be replaced.
    public static let knownSecret = SecretKind("secret that is replaced elsewhere")
    /// A long value of letters and digits behind a name such as `token` or `secret`.
    public static let namedValue = SecretKind("value named like a secret")
    /// A private key in text form.
    public static let privateKey = SecretKind(TokenSearch.privateKey)
    /// Content that is not searched for secrets: an archive, or a binary format such as Protocol Buffers.
    public static let unsearchedContent = SecretKind("content that is not searched")
    /// A password in a URL.
    public static let urlPassword = SecretKind("password in a URL")
}

/// A cassette is not written, because it still holds a text that looks like a secret.
///
/// It names the places, and never the secrets.
public struct SecretFoundError: Error, Sendable, Hashable, DescribableError {
    /// A place that holds something like a secret.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The kind of secret that it looks like.
        public let kind: SecretKind
        /// The name of the environment variable that has this value; nil for all other kinds.
        public let variable: String?
        /// The path in JSON, such as `$.interactions[0].request.url`; nil in a file of another format.
        public let path: String?
        /// The line in the file, from 1.
        public let line: Int

        /// The kind and the place.
        public var description: String {
            let what = kind.name + (variable.map { " " + $0 } ?? "")
            return path.map { "\(what) at \($0), line \(line)" } ?? "\(what) in line \(line)"
        }
    }

    /// The file that would have been written.
    public let file: String
    /// The places, in their order in the file.
    public let findings: [Finding]
    /// The method and the URL of the request, redacted, whose content or whose answer is not searched; nil if unknown.
    var exchange: String?

    /// The file, the places and the remedy.
    public var description: String {
        let secrets = findings.filter { $0.kind != .unsearchedContent }
        guard !secrets.isEmpty else {
            return """
                The file \(file) is not written, because \(exchange.map { "the content of \($0)" } ?? "some content") is an \
                archive or has a binary format, in which no secret would be found.
                fix: if it holds none, `rules.allowedSecrets.append(.kind(.unsearchedContent))` records it as it is; or let \
                `rules.beforeRecording` replace it
                """
        }
        let listed = secrets.prefix(10).map { "  \($0)" }.joined(separator: "\n")
        let rest = secrets.count - 10
        return """
            The file \(file) is not written, because it would hold what looks like a secret:
            \(listed)\(rest > 0 ? "\n  and \(rest) more" : "")
            fix: replace it by the name of its place, as in `rules.redaction.jsonPaths.insert("user.pin")`, or in \
            `rules.beforeRecording`; if it is made up, `rules.allowedSecrets.append("the value")` leaves it
            """
    }
}

/// The last gate before a cassette is written: it finds texts that still look like secrets, in linear time.
///
/// It knows the shapes of tokens, and the values that the environment holds under names like `API_TOKEN`, in each encoding.
package struct SecretScanner: Sendable {
    /// Parts of the names of environment variables whose values may be secret.
    private static let marks = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
    /// Endings of names whose value only leads to a secret, or describes one.
    private static let harmlessEndings = [
        "_FILE", "_PATH", "_DIR", "_SOCK", "_URL", "_URI", "_ENDPOINT", "_HOST", "_TTL", "_TIMEOUT", "_TYPE", "_NAME",
    ]
    private static let commonWords: Set<String> = [
        "changeme", "default", "disabled", "enabled", "example", "optional", "password", "required", "undefined",
    ]

    private let allowed: Set<SecretAllowance.Rule>
    private var values = NeedleSearch()
    private var variables: [String] = []

    /// Creates a scanner that finds neither what the rules allow nor what they have left.
    package init(
        environment: [String: String], allowing allowances: [SecretAllowance] = [], leaving left: Set<[UInt8]> = []
    ) {
        allowed = Set(allowances.map(\.rule) + left.map(SecretAllowance.Rule.text))
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where Self.isSecret(variable: name, value) {
            let secret = Array(value.utf8)
            guard !allowed.contains(.text(secret)) else { continue }
            for spelling in KnownSecrets.spellings(of: secret) + Self.base64Spellings(of: secret) {
                values.insert(spelling, tag: variables.count)
            }
            variables.append(name)
        }
    }

    init(_ rules: CassetteRules, leaving left: Set<[UInt8]> = []) {
        let environment = rules.environment ?? ProcessInfo.processInfo.environment
        self.init(environment: environment, allowing: rules.allowedSecrets, leaving: left)
    }

    /// Throws ``SecretFoundError`` if a file with this content would hold a secret.
    package func check(_ text: Data, file: String, known: [Range<Int>] = []) throws {
        let findings = findings(in: text, known: known)
        guard findings.isEmpty else { throw SecretFoundError(file: file, findings: findings) }
    }

    /// Finds texts that look like secrets in a file, in their order, and the known secrets that they do not overlap.
    package func findings(in text: Data, known: [Range<Int>] = []) -> [SecretFoundError.Finding] {
        let bytes = Array(text)
        let shaped = hits(in: bytes).sorted()
        let others = withoutAllowed(known.map { SecretHit(kind: .knownSecret, range: $0) }, in: bytes)
        let hits = (shaped + others.apart(from: shaped)).sorted()
        guard !hits.isEmpty else { return [] }
        var places = TextPlaces(bytes, hits: hits.map(\.range))
        return hits.map { hit in
            let place = places.place(of: hit.range.lowerBound)
            return SecretFoundError.Finding(kind: hit.kind, variable: hit.variable, path: place.path, line: place.line)
        }
    }

    private func hits(in bytes: [UInt8]) -> [SecretHit] {
        let found = allowed.contains(.kind(.environment)) ? [] : values.matches(in: bytes)
        return found.map { SecretHit(kind: .environment, range: $0.range, variable: variables[$0.tag]) }
            + withoutAllowed(SecretHit.all(in: bytes), in: bytes)
    }

    private func withoutAllowed(_ hits: [SecretHit], in bytes: [UInt8]) -> [SecretHit] {
        hits.filter { !allowed.contains(.kind($0.kind)) && !allowed.contains(.text(Array(bytes[$0.range]))) }
    }

    /// Shows a text, from which nothing may have been cut off, with a placeholder for each part that looks like a secret.
    package func masked(_ text: String) -> String {
        masked(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// The same for bytes; nil if no part looks like a secret.
    package func masked(_ bytes: [UInt8]) -> [UInt8]? {
        var edits = TextEdits(bytes)
        for hit in hits(in: bytes).sorted() {
            // For a private key, only its heading is a hit.
            let end = hit.kind == .privateKey ? TokenSearch.endOfKey(in: bytes[...], from: hit.range.upperBound) : nil
            edits.replace(hit.range.lowerBound..<(end ?? hit.range.upperBound), with: Array(Pseudonym.erasedText.utf8))
        }
        return edits.result
    }

    /// Throws if a message of an interaction still holds a secret, also one that is replaced elsewhere.
    ///
    /// Content is searched as it is and without its coding, since nothing may have been replaced in it.
    func check(_ interaction: Interaction, without secrets: CassetteRedactor, file: String) throws {
        var decoded = interaction
        decoded.decodeContent()
        let exchange = "\(decoded.request.method) \(decoded.request.url)"
        let (response, readable) = (interaction.response?.body.bytes ?? Data(), decoded.response)
        for (content, readable, fields, exchange) in [
            (interaction.request.body.bytes, decoded.request.body.bytes, decoded.request.fields, exchange),
            (response, readable?.body.bytes ?? Data(), readable?.fields ?? [:], "the answer to " + exchange),
        ] {
            func check(_ content: Data, isRedacted: Bool = false) throws {
                try self.check(content, file: file, known: secrets.pseudonyms.known.places(in: Array(content)))
                guard !isRedacted, !secrets.isRedacted(content, mediaType: fields[.contentType]) else { return }
                try self.check(content, file: file, known: [0..<content.count])
            }
            try check(content, isRedacted: true)
            // In UTF-16 and UTF-32, ASCII is the same except for NULs and the byte order mark.
            if ContentKind.isWide(Array(content)) { try check(content.filter { $0 != 0 && $0 < 0xFE }) }
            let isUnsearched = UnsearchedContent.includes(Array(readable), mediaType: fields[.contentType])
            if isUnsearched, !allowed.contains(.kind(.unsearchedContent)) {
                let finding = SecretFoundError.Finding(kind: .unsearchedContent, variable: nil, path: nil, line: 1)
                throw SecretFoundError(file: file, findings: [finding], exchange: masked(exchange))
            }
            if readable != content { try check(readable) }
        }
    }

    private static func isSecret(variable name: String, _ value: String) -> Bool {
        let name = name.uppercased()
        let isNamed = marks.contains(where: name.contains) && !harmlessEndings.contains(where: name.hasSuffix)
        guard isNamed else { return false }
        let bytes = Array(value.utf8)
        // The number under a name such as `TOKENS_PER_DAY` counts something.
        let isCount = !marks.contains(where: name.hasSuffix) && bytes.count < 12 && bytes.allSatisfy(\.isDigit)
        // A short word occurs by chance.
        return bytes.count >= NeedleSearch.minimumLength && !isCount && Set(bytes).count > 2
            && (bytes.count >= 8 || !PlainWord.isPlain(bytes))
            && !commonWords.contains(value.lowercased()) && !Pseudonym.isPseudonym(bytes)
    }

    /// The Base64 characters that depend on the secret alone, for each of the three offsets at which it can start.
    private static func base64Spellings(of secret: [UInt8]) -> [[UInt8]] {
        (0..<3).flatMap { offset -> [[UInt8]] in
            let padded = Array(repeating: 0 as UInt8, count: offset) + secret
            let standard = Array(Data(padded).base64EncodedData()[(offset * 8 + 5) / 6..<padded.count * 8 / 6])
            return [standard, EncodedWord.forURLs(standard)]
        }
    }
}

/// The place of a text that has the shape of a secret, or follows the name of one.
private struct SecretHit: Sendable {
    let kind: SecretKind
    let range: Range<Int>
    var variable: String?

    static func all(in bytes: [UInt8]) -> [SecretHit] {
        func hits(behind marks: String, _ kind: SecretKind, _ find: ([UInt8], Int) -> Range<Int>?) -> [SecretHit] {
            let marks = Array(marks.utf8)
            return bytes.indices.filter { marks.contains(bytes[$0]) }.compactMap { find(bytes, $0) }
                .map { SecretHit(kind: kind, range: $0) }
        }
        let passwords = hits(behind: ":", .urlPassword, urlPassword)
        let tokens = TokenSearch.tokens(in: bytes).filter { !Pseudonym.isPseudonym(bytes[$0.range]) }
            .map { SecretHit(kind: SecretKind($0.kind), range: $0.range) }
        let encoded = EncodedTokens.all(in: bytes, rules: Redaction.standard.rules)
            .filter { holdsSecret(encoded: bytes[$0]) }
            .map { SecretHit(kind: EncodedTokens.isAWSSecretKey(bytes[$0]) ? .awsSecretKey : .encodedToken, range: $0) }
        // A text of two kinds is reported once: as a password rather than a token, and by its shape rather than its name.
        let plain = (passwords + tokens.apart(from: passwords)).sorted()
        let apart = encoded.apart(from: Pseudonym.places(in: bytes), at: \.range).apart(from: plain)
        let shaped = (plain + apart).sorted()
        return shaped + hits(behind: "=:>", .namedValue, namedValue).apart(from: shaped)
    }

    /// Whether a text in Base64 holds a secret that is not replaced yet.
    private static func holdsSecret(encoded text: ArraySlice<UInt8>) -> Bool {
        if EncodedTokens.isAWSSecretKey(text) { return !Pseudonym.isPseudonym(text) }
        guard let bytes = Base64Text.decode(text) else { return true }
        if TokenSearch.tokens(in: bytes).contains(where: { !Pseudonym.isPseudonym(bytes[$0.range]) }) { return true }
        guard JSONText.isLikely(bytes) else { return false }
        let noted = Pseudonyms(for: .noting)
        _ = SecretRewriting(.standard, by: noted).applied(to: Data(bytes), mediaType: "application/json")
        return noted.noted.contains { !$0.isMarkedPlaceholder }
    }

    /// The password behind the scheme of a URL, whose slashes may be escaped as in JSON.
    private static func urlPassword(in bytes: [UInt8], at colon: Int) -> Range<Int>? {
        let rest = bytes[(colon + 1)...]
        let slashes = ["//", "\\/\\/", "\\//", "/\\/"].first { rest.starts(with: $0.utf8) }
        guard let slashes else { return nil }
        let userinfo = rest.dropFirst(slashes.utf8.count).prefix(512).prefix {
            $0.isInWord || ".~%!$&'()*+,;=:".utf8.contains($0)
        }
        let end = userinfo.endIndex
        guard end + 1 < bytes.count, bytes[end] == UInt8(ascii: "@"),
            let separator = userinfo.firstIndex(of: UInt8(ascii: ":")),
            bytes[end + 1].isInWord || bytes[end + 1] == UInt8(ascii: "[")
        else { return nil }
        let password = separator + 1..<end
        let word = String(decoding: bytes[password], as: UTF8.self).lowercased()
        let isDummy = ["", "pass", "password", "passwd", "pwd", "redacted", "secret"].contains(word)
        return isDummy || Set(bytes[password]).count < 2 || Pseudonym.isPseudonym(bytes[password]) ? nil : password
    }

    /// The names of long values in notations without a media type: `token = "…"`, `secret: '…'`, `<password>…<`.
    private static let names: SecretNameSet = [
        "*access_key", "*api_key", "*passwd", "*password", "*private_key", "*secret", "*secret_key", "*token",
    ]

    /// The value behind a separator; nil if it has no quotes around it, or cannot be a secret.
    private static func namedValue(in bytes: [UInt8], behind separator: Int) -> Range<Int>? {
        var end = separator
        while end > 0, separator - end < 3, " \"'\\".utf8.contains(bytes[end - 1]) { end -= 1 }
        let name = bytes[..<end].suffix(40)
        let letters = name.reversed().prefix(while: \.isInWord).count
        guard letters > 4 else { return nil }
        var start = separator + 1
        if bytes[separator] != UInt8(ascii: ">") {
            start += bytes[start...].prefix(3).prefix { $0 == 0x20 || $0 == UInt8(ascii: "\\") }.count
            guard start < bytes.count, "\"'".utf8.contains(bytes[start]) else { return nil }
            start += 1
        }
        let value = bytes[start...].prefix(4096).prefix { $0.isInWord || "+/=.~".utf8.contains($0) }
        // Words have few kinds of characters; a token of this length has many.
        guard value.endIndex < bytes.count, "\"'\\<".utf8.contains(bytes[value.endIndex]), value.count >= 16,
            value.contains(where: \.isDigit), value.contains(where: { ($0 | 0x20).isLowercase }), Set(value).count >= 8,
            names.secrecy(of: name.suffix(letters)) != nil, !Pseudonym.isPseudonym(value)
        else { return nil }
        return value.indices
    }
}

extension [SecretHit] {
    fileprivate func sorted() -> [SecretHit] { sorted { $0.range.lowerBound < $1.range.lowerBound } }

    fileprivate func apart(from others: [SecretHit]) -> [SecretHit] { apart(from: others.map(\.range), at: \.range) }
}

/// Content in which secrets would not be found: archives, whose files are compressed, and binary formats.
enum UnsearchedContent {
    private static let mediaTypes: Set<String> = [
        "application/bson", "application/cbor", "application/gzip", "application/java-archive",
        "application/msgpack", "application/protobuf", "application/vnd.android.package-archive",
        "application/vnd.apache.avro", "application/vnd.google.protobuf", "application/vnd.msgpack",
        "application/vnd.rar", "application/x-7z-compressed", "application/x-bzip2", "application/x-gzip",
        "application/x-msgpack", "application/x-protobuf", "application/x-tar", "application/x-xz", "application/zip",
        "application/x-zip-compressed", "application/zstd",
    ]
    /// The first bytes of archives and of compressed files.
    private static let starts: [[UInt8]] = [
        [0x50, 0x4B, 0x03, 0x04], [0x1F, 0x8B, 0x08], [0x37, 0x7A, 0xBC, 0xAF], Array("Rar!".utf8), Array("BZh".utf8),
        [0xFD, 0x37, 0x7A, 0x58, 0x5A], [0x28, 0xB5, 0x2F, 0xFD],
    ]

    /// Whether content, or a part of a multipart body, is an archive or has a binary format.
    static func includes(_ content: [UInt8], mediaType: String?) -> Bool {
        guard !content.isEmpty else { return false }
        let essence = (mediaType ?? "").mediaTypeEssence
        if let mediaType, essence.hasPrefix("multipart/") {
            var isInPart = false
            _ = MultipartPart.replacing(in: Data(content), mediaType: mediaType) { part in
                isInPart = isInPart || includes(Array(part.content), mediaType: part.mediaType)
                return nil
            }
            guard !isInPart else { return true }
        }
        return mediaTypes.contains(essence) || essence.hasPrefix("application/grpc")
            || starts.contains { content.starts(with: $0) } || content.dropFirst(257).starts(with: "ustar".utf8)
    }
}

/// Finds the line and, in JSON, the path and the pattern of places in a text; callers ask for them from left to right.
struct TextPlaces {
    private var scanner: JSONScanner
    /// The ranges of secrets, which a path must not quote.
    private var hits: ArraySlice<Range<Int>>
    private var position = 0
    private var line = 1
    /// The objects and arrays around the position, with the name of a member as a path shows it and as a pattern has it.
    private var stack: [(isObject: Bool, count: Int, name: (shown: String, pattern: String)?)] = []
    /// Whether the text is JSON, so far as it was read.
    private var isJSON: Bool

    init(_ bytes: [UInt8], hits: [Range<Int>]) {
        scanner = JSONScanner(bytes)
        self.hits = hits.sorted { $0.lowerBound < $1.lowerBound }[...]
        isJSON = JSONText.isLikely(bytes)
    }

    mutating func place(of index: Int) -> (path: String?, line: Int) {
        read(to: index)
        let steps = stack.map { isObject, count, name in
            isObject ? name.map { $0.shown.isEmpty ? "" : "." + $0.shown } ?? "" : "[\(count)]"
        }
        return (isJSON ? "$" + steps.joined() : nil, line)
    }

    /// The text of the `JSONPattern` that finds a place, which looks through arrays; nil in a text that is no JSON.
    mutating func pattern(of index: Int) -> String? {
        read(to: index)
        return isJSON ? stack.filter(\.isObject).map { $0.name?.pattern ?? "*" }.joined(separator: ".") : nil
    }

    private mutating func read(to index: Int) {
        let bytes = scanner.bytes
        while position < index, position < bytes.count {
            // From a token that breaks the grammar on, the text is not JSON; it may also have ended.
            let token = try? isJSON ? scanner.token() : nil
            isJSON = token != nil
            let end = token?.upperBound ?? index
            line += bytes[position..<min(end, bytes.count)].count { $0 == 0x0A }
            position = end
            if let token { note(token) }
        }
    }

    private mutating func note(_ token: Range<Int>) {
        let last = stack.count - 1
        switch scanner.bytes[token.lowerBound] {
        case UInt8(ascii: "{"): stack.append((true, 0, nil))
        case UInt8(ascii: "["): stack.append((false, 0, nil))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = stack.popLast()
        case UInt8(ascii: ",") where last >= 0: stack[last] = (stack[last].isObject, stack[last].count + 1, nil)
        // A string is the name of the next value, unless a name stands before it.
        case UInt8(ascii: "\"") where last >= 0 && stack[last].isObject && stack[last].name == nil:
            stack[last].name = name(token.lowerBound + 1..<token.upperBound - 1)
        default: break
        }
    }

    private mutating func name(_ content: Range<Int>) -> (shown: String, pattern: String) {
        hits = hits.drop { $0.upperBound <= content.lowerBound }
        if let hit = hits.first, hit.lowerBound < content.upperBound { return ("*", "*") }
        let name = scanner.bytes[content]
        guard name.count <= 60 else { return (String(decoding: name.prefix(60), as: UTF8.self), "*") }
        let pattern = JSONPattern.escaped(String(decoding: JSONText.unescape(name), as: UTF8.self))
        return (String(decoding: name, as: UTF8.self), pattern)
    }
}

/// The secrets that names have marked, which are replaced in every other place too.
///
/// A secret of at least 12 bytes is replaced wherever it stands. A shorter one is replaced as a whole word, if it is no
/// word of a language: `hunter2` is, and `admin` is not. Base64 of a text with a secret is encoded anew without it.
struct KnownSecrets: Sendable {
    private static let verbatimLength = 12
    private var secrets: Set<[UInt8]> = []
    private var search = NeedleSearch()
    private var replacements: [(text: [UInt8], isWord: Bool)] = []

    var isEmpty: Bool { search.isEmpty }

    mutating func insert(_ secret: [UInt8], replacedBy text: [UInt8]) {
        guard secrets.insert(secret).inserted, Self.isUnmistakable(secret) else { return }
        // Of equal spellings, the search keeps the first.
        for (spelling, text) in zip(Self.spellings(of: secret), Self.spellings(of: text)) {
            search.insert(spelling, tag: replacements.count)
            replacements.append((text, secret.count < Self.verbatimLength))
        }
    }

    /// A text as it is, percent-encoded with digits in upper and lower case, and in JSON, also with escaped slashes.
    static func spellings(of text: [UInt8]) -> [[UInt8]] {
        let encoded = PercentEscapes.encode(text)
        var lowercased = encoded
        for index in encoded.indices where encoded[index] == UInt8(ascii: "%") {
            for digit in index + 1...index + 2 where encoded[digit].isUppercase { lowercased[digit] |= 0x20 }
        }
        let escaped = JSONText.escape(text)
        let slashed = escaped.flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] }
        return [text, encoded, lowercased, escaped, slashed]
    }

    func replacing(in text: [UInt8]) -> [UInt8]? {
        guard !isEmpty else { return nil }
        let plain = replacingPlain(in: text)
        return EncodedWord.replacing(in: plain ?? text) { word in
            replacingPlain(in: word.text).map { word.encoding($0) }
        } ?? plain
    }

    /// The ranges of the secrets that a text still holds, and of Base64 with one, from the left.
    func places(in text: [UInt8]) -> [Range<Int>] {
        guard !isEmpty else { return [] }
        let encoded = EncodedWord.all(in: text).filter { !matches(in: $0.text).isEmpty }
        return (matches(in: text).map(\.range) + encoded.map(\.range)).sorted { $0.lowerBound < $1.lowerBound }
    }

    private func replacingPlain(in text: [UInt8]) -> [UInt8]? {
        var edits = TextEdits(text)
        for (range, tag) in matches(in: text) { edits.replace(range, with: replacements[tag].text) }
        return edits.result
    }

    private func matches(in text: [UInt8]) -> [NeedleSearch.Match] {
        let matches = search.matches(in: text).filter { range, tag in
            !replacements[tag].isWord
                || (range.lowerBound == 0 || !text[range.lowerBound - 1].isInWord)
                    && (range.upperBound == text.count || !text[range.upperBound].isInWord)
        }
        // A secret may equal a part of a pseudonym.
        return matches.isEmpty ? [] : matches.apart(from: Pseudonym.places(in: text)) { $0.range }
    }

    /// Whether a secret can be searched for in any text: it neither breaks JSON nor is a number, and a short one is no word.
    private static func isUnmistakable(_ secret: [UInt8]) -> Bool {
        (secret.count >= verbatimLength || !PlainWord.isPlain(secret) && Set(secret).count >= 4)
            && secret.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F }
            && !secret.allSatisfy { $0.isDigit || "+-.eE".utf8.contains($0) }
    }
}

extension Array {
    /// The elements whose ranges overlap none of the others; both lists are in the order of the text.
    func apart(from others: [Range<Int>], at range: (Element) -> Range<Int>) -> [Element] {
        var others = others[...]
        return filter { element in
            while let first = others.first, first.upperBound <= range(element).lowerBound { others.removeFirst() }
            return others.first.map { !$0.overlaps(range(element)) } ?? true
        }
    }
}

/// Searches a text for many byte strings at once, in a time that depends only on the length of the text.
struct NeedleSearch: Sendable {
    typealias Match = (range: Range<Int>, tag: Int)

    /// The number of bytes by which a needle is looked up; a shorter one is not added.
    static let minimumLength = 6
    private static let mask: UInt64 = (1 << (8 * UInt64(minimumLength))) - 1
    private static let shift = UInt64(8 * (minimumLength - 2))

    private var known: Set<[UInt8]> = []
    /// The needles by the bytes at an offset.
    private var needles: [UInt64: [(bytes: [UInt8], tag: Int, offset: Int)]] = [:]
    /// For each pair of bytes, whether the bytes of a lookup start with it; this avoids the lookup at most positions.
    private var starts: [Bool] = []

    var isEmpty: Bool { needles.isEmpty }

    /// Adds a needle, which is looked up by the part of it that the fewest others share: tokens of one kind start equally.
    mutating func insert(_ bytes: [UInt8], tag: Int) {
        guard bytes.count >= Self.minimumLength, known.insert(bytes).inserted else { return }
        if starts.isEmpty { starts = Array(repeating: false, count: 1 << 16) }
        var best = (key: 0 as UInt64, offset: 0, count: Int.max)
        let last = bytes.count - Self.minimumLength
        for offset in Array(stride(from: 0, to: last, by: Self.minimumLength)) + [last] where best.count > 0 {
            let key = bytes[offset...].prefix(Self.minimumLength).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            let count = needles[key]?.count ?? 0
            if count < best.count { best = (key, offset, count) }
        }
        needles[best.key, default: []].append((bytes, tag, best.offset))
        starts[Int(best.key >> Self.shift)] = true
    }

    /// Finds the needles in a text, from the left; of matches that overlap, the first and then the longest one.
    func matches(in text: [UInt8]) -> [Match] {
        guard !needles.isEmpty else { return [] }
        var (matches, window): ([Match], UInt64) = ([], 0)
        let (mask, shift) = (Self.mask, Self.shift)
        for index in 0..<text.count {
            window = (window << 8 | UInt64(text[index])) & mask
            let found = index + 1 - Self.minimumLength
            guard found >= 0, starts[Int(window >> shift)], let bucket = needles[window] else { continue }
            for (bytes, tag, offset) in bucket where found >= offset && text[(found - offset)...].starts(with: bytes) {
                matches.append((found - offset..<found - offset + bytes.count, tag))
            }
        }
        guard matches.count > 1 else { return matches }
        var end = 0
        return matches.sorted { ($0.range.lowerBound, -$0.range.count) < ($1.range.lowerBound, -$1.range.count) }
            .filter { range, _ in
                guard range.lowerBound >= end else { return false }
                end = range.upperBound
                return true
            }
    }
}

/// A word that is Base64 of a text (RFC 4648, sections 4 and 5), padded or not; one level of encoding is undone.
struct EncodedWord {
    /// A shorter word holds no secret, and is not decoded.
    static let leastLength = 12
    private static let paddings = ["=", "%3D", "%3d", "\\u003d", "\\u003D"].map { Array($0.utf8) }
    private static let escapes = ["+", "/", "%2B", "%2b", "%2F", "%2f", "\\/"].map { Array($0.utf8) }

    /// The word with its padding.
    let range: Range<Int>
    let text: [UInt8]
    private let letters: [UInt8]
    /// One sign of its padding, as it is written there; nil if it has none.
    private let padding: [UInt8]?
    private let isPercentEncoded: Bool

    /// The word for another text, in the same alphabet, and padded if this one is.
    func encoding(_ text: [UInt8]) -> [UInt8] {
        var coded = Array(Data(text).base64EncodedData())
        let count = coded.suffix(2).count { $0 == UInt8(ascii: "=") }
        coded.removeLast(count)
        let isForURLs = letters.contains { "-_".utf8.contains($0) }
        if isForURLs { coded = Self.forURLs(coded) }
        if isPercentEncoded { coded = PercentEscapes.encode(coded) }
        // A word of whole groups does not tell whether it would be padded; most words in this alphabet are.
        let mayBePadded = letters.count % 4 == 0 && !isForURLs
        guard count > 0, let sign = padding ?? (mayBePadded ? Self.paddings.first : nil) else { return coded }
        return coded + Array(repeating: sign, count: count).joined()
    }

    static func forURLs(_ coded: [UInt8]) -> [UInt8] {
        coded.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
    }

    /// The words of a text that are Base64 of a text, from the left.
    ///
    /// A slash and a plus sign may be letters of a word, or stand between two words. Each byte is decoded at most twice.
    static func all(in bytes: [UInt8]) -> [EncodedWord] {
        var words: [EncodedWord] = []
        var (start, endOfTried) = (0, 0)
        while start < bytes.count {
            guard bytes[start].isInWord else {
                start += lengthOfSeparator(in: bytes, at: start)
                continue
            }
            let end = bytes[start...].firstIndex { !$0.isInWord } ?? bytes.count
            var whole: EncodedWord?
            if start >= endOfTried {
                endOfTried = Self.end(in: bytes, from: end)
                if endOfTried > end { whole = EncodedWord(bytes, start..<endOfTried) }
            }
            // Two words with a slash between them decode to bytes that are no UTF-8.
            let isText = whole.map { String(validating: $0.text, as: UTF8.self) != nil } ?? false
            let word = isText ? whole : EncodedWord(bytes, start..<end)
            if let word { words.append(word) }
            start = word?.range.upperBound ?? end
        }
        return words
    }

    /// The bytes with another text in place of each word for which `replacement` returns one; nil if no word is replaced.
    static func replacing(in bytes: [UInt8], _ replacement: (_ word: EncodedWord) -> [UInt8]?) -> [UInt8]? {
        var edits = TextEdits(bytes)
        for word in all(in: bytes) {
            if let other = replacement(word) { edits.replace(word.range, with: other) }
        }
        return edits.result
    }

    /// The length of a byte between words, or of its escape in a URL or in JSON, whose letters belong to no word.
    private static func lengthOfSeparator(in bytes: [UInt8], at index: Int) -> Int {
        let rest = bytes[(index + 1)...].prefix(5)
        if bytes[index] == UInt8(ascii: "%") {
            return rest.count >= 2 && rest.prefix(2).allSatisfy { PercentEscapes.hexDigit($0) != nil } ? 3 : 1
        }
        guard bytes[index] == UInt8(ascii: "\\"), let first = rest.first else { return 1 }
        return first == UInt8(ascii: "u") && rest.count == 5 ? 6 : "bfnrt\"\\/".utf8.contains(first) ? 2 : 1
    }

    /// The end of a word that goes on with a slash or a plus sign, as they are or escaped.
    private static func end(in bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while index < bytes.count {
            let isEscape = "+/%\\".utf8.contains(bytes[index])
            let escape = isEscape ? escapes.first { bytes[index...].starts(with: $0) } : nil
            guard let length = escape?.count ?? (bytes[index].isInWord ? 1 : nil) else { break }
            index += length
        }
        return index
    }

    /// Reads the word in a range without its padding; nil if it is not Base64 of a text.
    private init?(_ bytes: [UInt8], _ range: Range<Int>) {
        guard range.count >= Self.leastLength else { return nil }
        let word = bytes[range]
        let isEscaped = word.contains(UInt8(ascii: "%"))
        letters = isEscaped ? PercentEscapes.decode(word, plusIsBlank: false) : JSONText.unescape(word)
        guard letters.count >= Self.leastLength, let text = Base64Text.decode(letters[...], where: Base64Text.isText)
        else { return nil }
        self.text = text
        padding = Self.paddings.first { bytes[range.upperBound...].starts(with: $0) }
        var end = range.upperBound
        for _ in 0..<2 where padding.map({ bytes[end...].starts(with: $0) }) ?? false { end += padding?.count ?? 0 }
        self.range = range.lowerBound..<end
        isPercentEncoded = isEscaped || padding?.first == UInt8(ascii: "%")
    }
}
