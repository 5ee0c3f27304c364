package import Decorum
import DecorumArchive
package import Foundation
package import HTTPTypes

/// Replaces the secrets of messages by the texts of ``Pseudonyms``.
///
/// A log masks values, and a recording is played back later. Therefore values of JSON keep their type here, and content
/// that cannot be parsed stays unchanged except for the secrets that are found in it.
package struct SecretRewriting: Sendable {
    /// The names of the secrets; tokens are found by the search before a file is written.
    let rules: SecretRules
    let pseudonyms: Pseudonyms
    let allowed: AllowedPlaces
    private let redaction: Redaction

    /// Creates a rewriting with the redaction that names the secrets, the texts for them, and the values that stay.
    package init(_ redaction: Redaction, by pseudonyms: Pseudonyms, allowing allowances: [SecretAllowance] = []) {
        self.redaction = redaction
        var rules = redaction.rules
        rules.tokens = false
        self.rules = rules
        self.pseudonyms = pseudonyms
        allowed = AllowedPlaces(allowances)
    }

    /// Replaces the secrets of a URL, a reference, or a path with its query, which is as valid as before.
    package func applied(toURL url: String) -> String { replacingKnown(in: rewritten(url: url)) }

    /// Replaces the secrets in header or trailer fields.
    ///
    /// The scheme of credentials, the names of cookies and the attributes of cookies stay. Empty values stay empty.
    package func applied(to fields: HTTPFields) -> HTTPFields {
        var fields = fields
        func change(_ change: (HTTPField) -> String) {
            for index in fields.indices {
                let value = change(fields[index])
                // Setting a field copies all fields.
                if value != fields[index].value { fields[index].value = value }
            }
        }
        change { field in
            let isSecret = redaction.isNamedSecret(field) || rules.looksIntoContent && OpaqueValues.isSecret(field)
            if isSecret { return rewritten(inSecretField: field) }
            if let rewritten = rewritten(json: field.value) { return rewritten }
            guard !field.isURL else { return rewritten(url: field.value) }
            guard redaction.mayHoldSecret(inURL: field.value) else { return field.value }
            return Self.changed(field.value) { rewritten(text: $0) }
        }
        change { replacingKnown(in: $0.value) }
        return fields
    }

    /// Replaces the secrets in content; its length may change.
    ///
    /// In text, the secrets in URLs and the known secrets are replaced. Text does not have to be UTF-8: invalid bytes
    /// stay as they are. Content in UTF-16 or UTF-32, and binary content, stays unchanged. Content has no content coding.
    package func applied(to content: Data, mediaType: String?) -> Data {
        let kind = ContentKind(mediaType: mediaType)
        // Each part is checked separately for being text.
        let content = kind == .multipart ? rewritten(multipart: content, mediaType: mediaType ?? "") : content
        let bytes = Array(content)
        guard !bytes.isEmpty, kind.isReadable(bytes) else { return content }
        let rewritten = rewritten(content: bytes, kind: kind, mediaType: mediaType)
        let known = pseudonyms.known.replacing(in: rewritten ?? bytes)
        return (known ?? rewritten).map { Data($0) } ?? content
    }

    /// Replaces the only word of a content.
    func applied(toWordIn content: Data, named name: [UInt8]) -> Data {
        let word = OpaqueValues.word(in: Array(content))
        guard let text = replacement(of: NamedSecret(word, named: name, at: .text)),
            let start = content.firstIndex(where: { $0 > 0x20 })
        else { return content }
        return content[..<start] + text + content[(start + word.count)...]
    }

    /// The text in place of a secret; nil for a secret that stays, because it is empty or masked already.
    func replacement(of secret: NamedSecret) -> [UInt8]? {
        guard !secret.bytes.isEmpty, !secret.bytes.elementsEqual(redaction.placeholder.utf8) else { return nil }
        guard !allowed.contains(secret) else {
            pseudonyms.leave(secret)
            return nil
        }
        let text = pseudonyms.replacement(of: secret)
        // A server may repeat them as they are.
        for part in Self.secrets(inCredentials: secret.bytes) {
            _ = replacement(of: NamedSecret(part, named: secret.name, at: secret.place))
        }
        return text
    }

    /// The password of Basic credentials (RFC 7617), and the user name if only a word stands in place of the password.
    private static func secrets(inCredentials coded: [UInt8]) -> [[UInt8]] {
        guard let pair = Base64Text.decode(coded[...], where: Base64Text.isText),
            let colon = pair.firstIndex(of: UInt8(ascii: ":")), String(validating: pair, as: UTF8.self) != nil
        else { return [] }
        let (name, password) = (Array(pair[..<colon]), Array(pair[(colon + 1)...]))
        return PlainWord.isPlain(password) && !PlainWord.isPlain(name) ? [name, password] : [password]
    }

    private static func changed(_ text: String, by change: ([UInt8]) -> [UInt8]?) -> String {
        change(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func replacingKnown(in text: String) -> String {
        let known = pseudonyms.known
        return known.isEmpty ? text : Self.changed(text, by: known.replacing)
    }

    /// Replaces the secrets in the value of a field that holds one JSON value or several between commas; nil when it
    /// holds no secret, unless the rules may leave one.
    private func rewritten(json value: String) -> String? {
        guard rules.looksIntoContent, value.utf8.contains(UInt8(ascii: "\"")), JSONText.isLikely(value.utf8) else {
            return nil
        }
        // Patterns look through arrays, so the only effect of the brackets is that commas may separate values.
        let result = JSONRewriting(Array("[\(value)]".utf8), by: self).run()
        guard let bytes = result.bytes else { return result.isWhole && allowed.json != nil ? value : nil }
        let hasBracket = result.isWhole || bytes.last == UInt8(ascii: "]")
        return String(decoding: bytes.dropFirst().dropLast(hasBracket ? 1 : 0), as: UTF8.self)
    }

    private func rewritten(url: String) -> String {
        guard redaction.mayHoldSecret(inURL: url) else { return url }
        return Self.changed(url) { rewritten($0) { $0.findInURL() } }
    }

    /// The text without the secrets in its URLs and lines; nil if it has no secret.
    func rewritten(
        text: [UInt8], at place: NamedSecret.Place = .item, nesting: Int = SecretRules.nestingLimit
    ) -> [UInt8]? {
        rewritten(text, at: place, nesting: nesting) { search in
            search.findInLinks()
            search.findAssignments()
        }
    }

    /// The encoding of the values in a format.
    private enum Coding {
        /// Percent-encoded.
        case url
        /// Percent-encoded, with `+` for a blank.
        case form
        case none
    }

    /// The text without the secrets in its URLs; nil if it has no secret.
    func rewritten(links text: [UInt8]) -> [UInt8]? { rewritten(text) { $0.findInLinks() } }

    /// The bytes without the secrets that a search finds; nil if it finds no secret.
    ///
    /// The scheme before credentials, such as `Bearer`, stays.
    private func rewritten(
        _ bytes: [UInt8], coding: Coding = .url, at place: NamedSecret.Place = .item,
        nesting: Int = SecretRules.nestingLimit, _ find: (inout SecretSearch) -> Void
    ) -> [UInt8]? {
        var search = SecretSearch(bytes, rules: rules, nesting: nesting)
        find(&search)
        return search.replacing { secret in
            let value = bytes[secret.range]
            let scheme = AuthorizationScheme.length(in: value)
            let coded = value.dropFirst(scheme)
            let decoded = coding == .none ? Array(coded) : PercentEscapes.decode(coded, plusIsBlank: coding == .form)
            let found =
                switch secret.kind {
                case .path: NamedSecret(decoded, named: "path".utf8, at: .path)
                case .userinfo: NamedSecret(decoded, named: "userinfo".utf8, at: .userinfo)
                case .value(let name): NamedSecret(decoded, named: itemName(bytes[name], coding), at: place)
                case .token: NamedSecret(decoded, named: [], at: place)
                }
            guard let text = replacement(of: found) else { return Array(value) }
            return value.prefix(scheme) + (decoded.elementsEqual(coded) ? text : PercentEscapes.encode(text))
        }
    }

    /// The name of an item without its encoding.
    private func itemName(_ name: ArraySlice<UInt8>, _ coding: Coding) -> [UInt8] {
        guard coding != .none else { return Array(name) }
        guard name.last == UInt8(ascii: "=") else { return PercentEscapes.decode(name) }
        // If the value is an encoded URL or JSON with a secret, the range is all of the item before the value.
        let mark = name.lastIndex { "?&;#/".utf8.contains($0) }
        return PercentEscapes.decode(name[(mark.map { $0 + 1 } ?? name.startIndex)...].dropLast())
    }

    private func rewritten(content bytes: [UInt8], kind: ContentKind, mediaType: String?) -> [UInt8]? {
        if kind == .json || kind != .form && JSONText.isLikely(bytes) {
            return JSONRewriting(bytes, by: self).run().bytes
        }
        if kind == .multipart { return nil }
        if EventLines.includes(mediaType) { return EventLines(bytes).rewritten(by: self) }
        if kind == .form { return rewritten(bytes, coding: .form) { $0.findInForm() } }
        if let delimiter = SecretSearch.delimiter(ofMediaType: mediaType?.mediaTypeEssence) {
            return rewritten(bytes, coding: .none, at: .text) { $0.findInTable(delimiter: delimiter) }
        }
        guard bytes.first(where: { $0 > 0x20 && $0 < 0x80 }) == UInt8(ascii: "<"),
            let marked = rewritten(bytes, coding: .none, at: .text, { $0.findInMarkup() })
        else { return rewritten(text: bytes, at: .text) }
        return rewritten(marked, at: .text) { $0.findInLinks() } ?? marked
    }

    private func rewritten(multipart content: Data, mediaType: String) -> Data {
        MultipartPart.replacing(in: content, mediaType: mediaType) { part in
            let bytes = Array(part.content)
            guard rules.formNames.isSecret(bytes[...], of: part.name[...]) else {
                return applied(to: part.content, mediaType: part.mediaType)
            }
            return replacement(of: NamedSecret(bytes, named: part.name, at: .item)).map { Data($0) }
        }
    }
}

extension SecretRewriting {
    private static let credentialFields: Set<String> = [
        "authorization", "proxy-authorization", "x-forwarded-authorization", "x-original-authorization",
    ]

    /// Replaces the secrets in a secret field by the structure of the field.
    private func rewritten(inSecretField field: HTTPField) -> String {
        let value = Array(field.value.utf8)
        let name = field.name.canonicalName
        guard !allowed.contains(field.name) else {
            for part in [value[...], value.dropFirst(AuthorizationScheme.lengthInField(value[...]))] {
                pseudonyms.leave(NamedSecret(Array(part), named: name.utf8, at: .field))
            }
            return field.value
        }
        switch field.name {
        case .cookie:
            return value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                .map { String(decoding: rewritten(cookie: $0), as: UTF8.self) }.joined(separator: ";")
        case .setCookie:
            return SetCookieSplitting.split(field.value).map { text in
                let cookie = Array(text.utf8)
                let pair = cookie.prefix { $0 != UInt8(ascii: ";") }
                return String(decoding: rewritten(cookie: pair) + cookie[pair.endIndex...], as: UTF8.self)
            }.joined(separator: ", ")
        default:
            let scheme =
                Self.credentialFields.contains(name)
                ? AuthorizationScheme.lengthInField(value[...]) : AuthorizationScheme.length(in: value[...])
            let secret = Array(value.dropFirst(scheme))
            let text = replacement(of: NamedSecret(secret, named: name.utf8, at: .field)) ?? secret
            return String(decoding: value.prefix(scheme) + text, as: UTF8.self)
        }
    }

    /// Replaces the value of a cookie pair; the blanks and quotes around it stay.
    private func rewritten(cookie pair: ArraySlice<UInt8>) -> [UInt8] {
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        let name = equals.map { Array(pair[..<$0].drop { $0 == 0x20 }) } ?? Array("cookie".utf8)
        var value = equals.map { pair[($0 + 1)...] } ?? pair
        while value.first == 0x20 { value.removeFirst() }
        while value.last == 0x20 { value.removeLast() }
        if value.count > 1, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") {
            value = value.dropFirst().dropLast()
        }
        let secret = PercentEscapes.decode(value, plusIsBlank: false)
        let text = replacement(of: NamedSecret(secret, named: name, at: .cookie))
            .map { secret.elementsEqual(value) ? $0 : PercentEscapes.encode($0) }
        return pair[..<value.startIndex] + (text ?? Array(value)) + pair[value.endIndex...]
    }
}

/// The name of the scheme before credentials (RFC 9110, section 11.4), which is not secret.
enum AuthorizationScheme {
    /// The schemes that are also found outside a field, such as in JSON.
    private static let known = ["bearer", "basic", "token", "dpop"]

    /// The number of bytes of one of the usual schemes and the blank after it, which may be encoded; 0 without a
    /// scheme.
    static func length(in value: ArraySlice<UInt8>) -> Int {
        let word = value.prefix { ($0 | 0x20).isLowercase }
        guard (4...6).contains(word.count),
            known.contains(where: { $0.utf8.elementsEqual(word.lazy.map { $0 | 0x20 }) })
        else { return 0 }
        let rest = value[word.endIndex...]
        let blanks = rest.prefix { $0 == 0x20 || $0 == UInt8(ascii: "+") }.count
        let length = word.count + (blanks == 0 && rest.starts(with: "%20".utf8) ? 3 : blanks)
        return length > word.count && length < value.count ? length : 0
    }

    /// The number of bytes of any scheme in a field of credentials and the blanks after it; 0 without a scheme.
    static func lengthInField(_ value: ArraySlice<UInt8>) -> Int {
        let word = value.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
        // A first word that is longer than any registered scheme is more likely a part of a secret.
        guard let first = word.first, (first | 0x20).isLowercase, word.count <= 24 else { return 0 }
        let blanks = value[word.endIndex...].prefix { $0 == 0x20 || $0 == 0x09 }.count
        let length = word.count + blanks
        return blanks > 0 && length < value.count ? length : 0
    }
}

/// The values and places that the rules leave as they are.
struct AllowedPlaces: Sendable {
    private(set) var texts: Set<[UInt8]> = []
    private(set) var kinds: Set<SecretKind> = []
    private var fields: Set<String> = []
    private var items: SecretNameSet = []
    /// Finds the places in JSON; nil without such a place.
    private(set) var json: SecretRules?

    init(_ allowances: [SecretAllowance] = []) {
        var paths: Set<JSONPath> = []
        for allowance in allowances {
            switch allowance.rule {
            case .text(let text): texts.insert(Array(text.utf8))
            case .field(let name): fields.insert(name)
            case .item(let name): items.insert(name)
            case .json(let pattern): paths.insert(pattern.path)
            case .kind(let kind): kinds.insert(kind)
            }
        }
        guard !paths.isEmpty else { return }
        json = SecretRules()
        json?.json = JSONMatcher(paths)
    }

    func contains(_ field: HTTPField.Name) -> Bool { fields.contains(field.canonicalName) }

    /// Whether a secret stays, by its value, the name of its item, or its name in JSON.
    func contains(_ secret: NamedSecret) -> Bool {
        if texts.contains(secret.bytes) { return true }
        switch secret.place {
        case .cookie, .item, .text: return !items.isEmpty && items.secrecy(of: secret.name) != nil
        case .json:
            // In text that is only nearly JSON, places are not known.
            let secrecy = json?.jsonNames.secrecy(of: JSONText.unescape(secret.name[...]))
            return secrecy == .any || secrecy == .text && !secret.isNumber
        case .field, .userinfo, .path: return false
        }
    }
}

/// Values that look random, at places whose names alone do not make a value secret.
enum OpaqueValues {
    private static let leastLength = 12
    private static let fieldNames: SecretNameSet = ["*key", "*ticket", "*pin", "*license", "*licence"]

    /// Whether a field may hold a key or a ticket of a service's own, as in `X-Shop-Key`.
    static func isSecret(_ field: HTTPField) -> Bool {
        fieldNames.secrecy(ofField: field.name.canonicalName) != nil && isRandom(Array(field.value.utf8))
    }

    /// The name of the secret that is the whole content of an answer, as in the answer to `GET /auth/token`; nil if the
    /// content is not one random word, or the last part of the path is not the name of a secret.
    static func name(of content: Data, mediaType: String?, answering url: String, _ rules: SecretRules) -> [UInt8]? {
        guard [.text, .unknown].contains(ContentKind(mediaType: mediaType)), content.count <= 4096,
            isRandom(word(in: Array(content)))
        else { return nil }
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let last = path.split(separator: UInt8(ascii: "/")).last.map(Array.init) else { return nil }
        return rules.formNames.secrecy(of: last) == nil ? nil : last
    }

    /// The content without the blanks around it.
    static func word(in content: [UInt8]) -> [UInt8] {
        Array(content.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
    }

    private static func isRandom(_ value: [UInt8]) -> Bool {
        value.count >= leastLength && value.allSatisfy { $0.isInWord || "+/=.~:".utf8.contains($0) }
            && value.contains(where: \.isDigit) && value.contains { ($0 | 0x20).isLowercase }
            && Set(value).count >= 8
    }
}

/// Checks of the encoding of text by its bytes.
enum UTF8Text: Sendable {
    /// Whether bytes are UTF-8 without a NUL, which text does not hold.
    static func isValid(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// Whether text is in UTF-16 or UTF-32: by its byte order mark, or by NULs among the ASCII at its start.
    static func isWide(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return true }
        let start = bytes.prefix(4)
        let isASCII = start.allSatisfy { $0 == 0 || $0 < 0x7F && $0 >= 0x20 || (0x09...0x0D).contains($0) }
        let patterns = [
            [true, true, true, false], [true, false, true, false], [false, true, true, true],
            [false, true, false, true],
        ]
        return isASCII && patterns.contains(start.map { $0 == 0 })
    }
}

extension ContentKind {
    /// Whether content can be searched byte by byte, as ASCII with any other bytes in between.
    ///
    /// Content with a media type of text often has an older encoding, and a single byte that is not UTF-8 must not hide
    /// all secrets.
    func isReadable(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .json, .form, .markup, .text: !UTF8Text.isWide(bytes)
        case .binary, .unknown, .multipart:
            UTF8Text.isValid(bytes) || bytes.allSatisfy { $0 >= 0x20 || (0x09...0x0D).contains($0) }
        }
    }
}

extension Redaction {
    /// Replaces only the values of items in the query of a URL.
    init(ofItems names: Set<String>) {
        self.init(queryItems: SecretNames(names), userinfo: false, masksTokens: false)
    }
}
