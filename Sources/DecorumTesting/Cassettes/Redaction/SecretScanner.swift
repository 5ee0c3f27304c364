import Decorum
import DecorumArchive
package import Foundation
import HTTPTypes

/// The last gate before a cassette is written: it finds texts that still look like secrets.
///
/// It knows the shapes of tokens, and the values that the environment holds under names like `API_TOKEN`, as they are,
/// percent-encoded, escaped or in Base64. Pseudonyms, and the placeholders that documents use for tokens, are not
/// found. It reads each byte once, in linear time.
package struct SecretScanner: Sendable {
    private let variables: EnvironmentSecrets
    private let allowedTexts: Set<[UInt8]>
    private let allowedKinds: Set<SecretKind>

    /// Creates a scanner that finds neither what the rules allow nor the texts that they have left by their places.
    package init(
        environment: [String: String], allowing allowances: [SecretAllowance] = [], leaving left: Set<[UInt8]> = []
    ) {
        let allowed = AllowedPlaces(allowances)
        (allowedTexts, allowedKinds) = (allowed.texts.union(left), allowed.kinds)
        variables = EnvironmentSecrets(environment, allowed: allowedTexts)
    }

    /// Creates a scanner for the cassettes of this process.
    init(_ rules: CassetteRules, leaving left: Set<[UInt8]> = []) {
        self.init(
            environment: rules.environment ?? ProcessInfo.processInfo.environment, allowing: rules.allowedSecrets,
            leaving: left)
    }

    /// Throws ``SecretFoundError`` if a file with this content would hold a secret.
    package func check(_ text: Data, file: String, known: [Range<Int>] = []) throws {
        let findings = findings(in: text, known: known)
        guard findings.isEmpty else { throw SecretFoundError(file: file, findings: findings) }
    }

    /// Throws because content cannot be searched, unless the rules allow it.
    ///
    /// `exchange` is the method and the URL of its request, redacted.
    func checkUnsearched(file: String, exchange: String) throws {
        guard !allowedKinds.contains(.unsearchedContent) else { return }
        let finding = SecretFoundError.Finding(kind: .unsearchedContent, variable: nil, path: nil, line: 1)
        throw SecretFoundError(file: file, findings: [finding], exchange: masked(exchange))
    }

    /// Finds texts that look like secrets in the whole content of a file, in their order, and those ranges of known secrets
    /// in it that they do not overlap.
    package func findings(in text: Data, known: [Range<Int>] = []) -> [SecretFoundError.Finding] {
        let bytes = Array(text)
        let shaped = hits(in: bytes)
        let others = allowed(known.map { SecretHit(kind: .knownSecret, range: $0) }, in: bytes)
            .filter { hit in !shaped.contains { $0.range.overlaps(hit.range) } }
        let hits = (shaped + others).sorted()
        guard !hits.isEmpty else { return [] }
        var places = TextPlaces(bytes, hits: hits.map(\.range))
        return hits.map { hit in
            let place = places.place(of: hit.range.lowerBound)
            return SecretFoundError.Finding(
                kind: hit.kind, variable: hit.variable, path: place.path, line: place.line)
        }
    }

    /// The places in bytes of texts that look like secrets, in no order.
    private func hits(in bytes: [UInt8]) -> [SecretHit] {
        let values = allowedKinds.contains(.environment) ? [] : variables.hits(in: bytes)
        return values + allowed(SecretHit.all(in: bytes), in: bytes)
    }

    private func allowed(_ hits: [SecretHit], in bytes: [UInt8]) -> [SecretHit] {
        hits.filter { !allowedKinds.contains($0.kind) && !allowedTexts.contains(Array(bytes[$0.range])) }
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
}

/// The place of a text that has the shape of a secret, or follows the name of one.
private struct SecretHit: Sendable {
    let kind: SecretKind
    let range: Range<Int>
    var variable: String?

    static func all(in bytes: [UInt8]) -> [SecretHit] {
        let passwords = bytes.indices.filter { bytes[$0] == UInt8(ascii: ":") }
            .compactMap { urlPassword(in: bytes, at: $0) }.map { SecretHit(kind: .urlPassword, range: $0) }
        // A recording holds pseudonyms where its tokens were.
        let pseudonyms = PseudonymPlaces.all(in: bytes).map { SecretHit(kind: .knownSecret, range: $0) }
        let tokens = TokenSearch.tokens(in: bytes).filter { !Pseudonym.isPseudonym(bytes[$0.range]) }
            .map { SecretHit(kind: SecretKind($0.kind), range: $0.range) }
        let encoded = EncodedTokens.all(in: bytes, rules: Redaction.standard.rules)
            .filter { holdsSecret(encoded: bytes[$0]) }
            .map { SecretHit(kind: EncodedTokens.isAWSSecretKey(bytes[$0]) ? .awsSecretKey : .encodedToken, range: $0) }
        // A text of two kinds is reported once: as a password rather than a token, and by its shape rather than its
        // name.
        let plain = (passwords + tokens.apart(from: passwords)).sorted()
        let shaped = (plain + encoded.apart(from: pseudonyms).apart(from: plain)).sorted()
        let named = bytes.indices.filter { "=:>".utf8.contains(bytes[$0]) }
            .compactMap { namedValue(in: bytes, behind: $0) }.map { SecretHit(kind: .namedValue, range: $0) }
        return shaped + named.apart(from: shaped)
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
        guard let slashes = ["//", "\\/\\/", "\\//", "/\\/"].first(where: { rest.starts(with: $0.utf8) }) else {
            return nil
        }
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

    /// The names of long values that are found in any notation: `token = "…"`, `secret: '…'`, `<password>…<`.
    ///
    /// Redaction knows the notations that have a media type. This is for all others, such as a script in a page.
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

    /// The hits that overlap none of the others; both lists are in the order of the text.
    fileprivate func apart(from others: [SecretHit]) -> [SecretHit] {
        var others = others[...]
        return filter { hit in
            while let first = others.first, first.range.upperBound <= hit.range.lowerBound { others.removeFirst() }
            return others.first.map { !$0.range.overlaps(hit.range) } ?? true
        }
    }
}

/// The values of the environment variables whose names are like the names of secrets.
private struct EnvironmentSecrets: Sendable {
    private static let marks = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
    /// Endings of names whose value only leads to a secret, or describes one.
    private static let harmlessEndings = [
        "_FILE", "_PATH", "_DIR", "_SOCK", "_URL", "_URI", "_ENDPOINT", "_HOST", "_TTL", "_TIMEOUT", "_TYPE", "_NAME",
    ]
    private static let commonWords: Set<String> = [
        "changeme", "default", "disabled", "enabled", "example", "optional", "password", "required", "undefined",
    ]
    /// The length from which a word is searched for; a shorter one occurs by chance.
    private static let wordLength = 8

    private var search = NeedleSearch()
    private var names: [String] = []

    init(_ environment: [String: String], allowed: Set<[UInt8]>) {
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where Self.isSecret(name, value) {
            let secret = Array(value.utf8)
            guard !allowed.contains(secret) else { continue }
            for spelling in SecretSpelling.allCases { search.insert(spelling.write(secret), tag: names.count) }
            for spelling in Self.base64Spellings(of: secret) { search.insert(spelling, tag: names.count) }
            names.append(name)
        }
    }

    func hits(in bytes: [UInt8]) -> [SecretHit] {
        search.matches(in: bytes).map { SecretHit(kind: .environment, range: $0.range, variable: names[$0.tag]) }
    }

    private static func isSecret(_ name: String, _ value: String) -> Bool {
        let name = name.uppercased()
        guard marks.contains(where: name.contains), !harmlessEndings.contains(where: name.hasSuffix) else {
            return false
        }
        let bytes = Array(value.utf8)
        // The number under a name such as `TOKENS_PER_DAY` counts something.
        let isCount = !marks.contains(where: name.hasSuffix) && bytes.count < 12 && bytes.allSatisfy(\.isDigit)
        return bytes.count >= NeedleSearch.minimumLength && !isCount && Set(bytes).count > 2
            && (bytes.count >= wordLength || !PlainWord.isPlain(bytes))
            && !commonWords.contains(value.lowercased()) && !Pseudonym.isPseudonym(bytes)
    }

    /// The Base64 characters that depend on the secret alone, for each of the three offsets at which it can start.
    private static func base64Spellings(of secret: [UInt8]) -> [[UInt8]] {
        (0..<3).flatMap { offset -> [[UInt8]] in
            let padded = Array(repeating: 0 as UInt8, count: offset) + secret
            let standard = Array(Data(padded).base64EncodedData()[(offset * 8 + 5) / 6..<padded.count * 8 / 6])
            let urlSafe = standard.map { $0 == UInt8(ascii: "+") ? 0x2D : $0 == UInt8(ascii: "/") ? 0x5F : $0 }
            return standard == urlSafe ? [standard] : [standard, urlSafe]
        }
    }
}

/// Checks content before it is written as base64 or to a file, or if nothing could be replaced in it.
///
/// The content is searched in its original form.
struct ContentGate {
    let scanner: SecretScanner
    let redactor: CassetteRedactor
    let file: String

    /// Throws if a message of an interaction still holds a secret.
    func check(_ interaction: Interaction) throws {
        var decoded = interaction
        decoded.decodeContent()
        let exchange = "\(decoded.request.method) \(decoded.request.url)"
        try check(
            interaction.request.body.bytes, decoded: decoded.request.body.bytes, decoded.request.fields, exchange)
        if let response = interaction.response, let readable = decoded.response {
            try check(response.body.bytes, decoded: readable.body.bytes, readable.fields, "the answer to " + exchange)
        }
    }

    private func check(_ content: Data, decoded: Data, _ fields: HTTPFields, _ exchange: String) throws {
        let bytes = Array(content)
        try scanner.check(content, file: file, known: redactor.knownSecrets(in: bytes))
        // In UTF-16 and UTF-32, ASCII is the same except for NULs and the byte order mark.
        if UTF8Text.isWide(bytes) { try checkUnredacted(Data(bytes.filter { $0 != 0 && $0 < 0xFE }), fields) }
        if UnsearchedContent.includes(Array(decoded), mediaType: fields[.contentType]) {
            try scanner.checkUnsearched(file: file, exchange: exchange)
        }
        if decoded != content { try checkUnredacted(decoded, fields) }
    }

    /// Checks the readable form of content that is written unchanged.
    private func checkUnredacted(_ content: Data, _ fields: HTTPFields) throws {
        try scanner.check(content, file: file, known: redactor.knownSecrets(in: Array(content)))
        if !redactor.isRedacted(content, mediaType: fields[.contentType]) {
            try scanner.check(content, file: file, known: [0..<content.count])
        }
    }
}

/// Content that is not written unless the rules allow it, because secrets in it would not be found: archives, whose
/// files are compressed, and binary formats with fields of text.
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
            if isInPart { return true }
        }
        if mediaTypes.contains(essence) || essence.hasPrefix("application/grpc") { return true }
        return starts.contains { content.starts(with: $0) } || content.dropFirst(257).starts(with: "ustar".utf8)
    }
}
