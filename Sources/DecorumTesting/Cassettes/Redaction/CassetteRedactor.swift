package import Decorum
package import Foundation
package import HTTPTypes

/// Removes secrets from interactions, in the same way for writing and for matching.
struct CassetteRedactor: Sendable {
    private let rules: CassetteRules
    let pseudonyms = Pseudonyms()
    private let matching: SecretRewriting

    init(_ rules: CassetteRules, continuing text: [UInt8] = []) {
        self.rules = rules
        matching = SecretRewriting(rules.redaction, by: Pseudonyms(for: .matching), allowing: rules.allowedSecrets)
        pseudonyms.reserve(in: text)
    }

    private func rewriting(by pseudonyms: Pseudonyms) -> SecretRewriting {
        SecretRewriting(rules.redaction, by: pseudonyms, allowing: rules.allowedSecrets)
    }

    private var showing: SecretRewriting { rewriting(by: Pseudonyms(for: .showing)) }

    /// A request as it is matched: with the same text for every secret, because pseudonyms differ in two runs.
    func matchable(_ request: RecordedRequest) -> RecordedRequest {
        var request = redacted(request, by: matching)
        request.url = Pseudonym.erased(in: request.url, isCoded: true)
        for index in request.fields.indices {
            let erased = Pseudonym.erased(in: request.fields[index].value)
            // Setting a field copies all fields.
            if erased != request.fields[index].value { request.fields[index].value = erased }
        }
        guard !request.body.bytes.isEmpty else { return request }
        let isForm = ContentKind(mediaType: request.fields[.contentType]) == .form
        if let erased = Pseudonym.erased(in: Array(request.body.bytes), isCoded: isForm) {
            request.body.bytes = Data(erased)
        }
        return request
    }

    func matchable(_ interaction: Interaction) -> Interaction {
        var interaction = interaction
        interaction.request = matchable(interaction.request)
        return interaction
    }

    func matchable(url: String) -> String { Pseudonym.erased(in: matching.applied(toURL: url), isCoded: true) }

    /// A recording as a message shows it: with the placeholders of the file, and without any other secret.
    func shown(_ interaction: Interaction) -> Interaction {
        var interaction = interaction
        if rules.content == .decoded { interaction.decodeContent() }
        return redacted(interaction, by: showing)
    }

    func shown(_ request: RecordedRequest) -> RecordedRequest { redacted(request, by: showing) }
    func shown(url: String) -> String { showing.applied(toURL: url) }

    /// Interactions as they are written.
    ///
    /// A secret may occur in one before a later one marks it, and none may be taken for a placeholder: hence three passes.
    func redacted(_ interactions: [Interaction]) -> [Interaction] {
        let noted = Pseudonyms(for: .noting)
        let (search, writing) = (rewriting(by: noted), rewriting(by: pseudonyms))
        for interaction in interactions { _ = redacted(interaction, by: search) }
        pseudonyms.avoid(noted.noted)
        return interactions.map { redacted($0, by: writing) }.map { redacted($0, by: writing) }
    }

    func isRedacted(_ content: Data, mediaType: String?) -> Bool {
        rewriting(by: pseudonyms).applied(to: content, mediaType: mediaType) == content
    }

    private func redacted(_ interaction: Interaction, by rewriting: SecretRewriting) -> Interaction {
        var interaction = interaction
        redact(&interaction.request, by: rewriting)
        guard var response = interaction.response else { return interaction }
        for name in rules.ignoredFields { response.fields[name] = nil }
        let mediaType = response.fields[.contentType]
        response.body.bytes = rewriting.applied(
            toWordIn: response.body.bytes, mediaType: mediaType, answering: interaction.request.url)
        if !response.reason.isEmpty {
            // A server writes any text there, such as a token that it refuses.
            let reason = rewriting.applied(to: Data(response.reason.utf8), mediaType: "text/plain")
            response.reason = String(decoding: reason, as: UTF8.self)
        }
        response.body.bytes = rewriting.applied(to: response.body.bytes, mediaType: mediaType)
        redact(&response.fields, by: rewriting)
        redact(&response.trailers, by: rewriting)
        for index in response.informational.indices { redact(&response.informational[index].fields, by: rewriting) }
        // The response to HEAD, and a broken one, has the length of other content.
        let isWhole = interaction.request.method != "HEAD" && response.status != 304 && interaction.failure == nil
        if isWhole, response.fields[.contentLength] != nil {
            response.fields[.contentLength] = String(response.body.bytes.count)
        }
        interaction.response = response
        return interaction
    }

    private func redacted(_ request: RecordedRequest, by rewriting: SecretRewriting) -> RecordedRequest {
        var request = request
        if rules.content == .decoded, request.fields.contains(.contentEncoding) { request.decodeContent() }
        redact(&request, by: rewriting)
        return request
    }

    private func redact(_ request: inout RecordedRequest, by rewriting: SecretRewriting) {
        request.url = rewriting.applied(toURL: request.url)
        if !request.body.bytes.isEmpty {
            request.body.bytes = rewriting.applied(to: request.body.bytes, mediaType: request.fields[.contentType])
        }
        redact(&request.fields, by: rewriting)
        redact(&request.trailers, by: rewriting)
    }

    private func redact(_ fields: inout HTTPFields, by rewriting: SecretRewriting) {
        guard !fields.isEmpty else { return }
        fields = rewriting.applied(to: fields)
        // The mark means that the value is secret, which it no longer is.
        for index in fields.indices where fields[index].indexingStrategy == .disallow {
            fields[index].indexingStrategy = .automatic
        }
    }
}

/// Replaces the secrets of messages by the texts of ``Pseudonyms``.
///
/// A recording is played back later. Therefore values of JSON keep their type, and content that cannot be parsed stays
/// unchanged except for the secrets that are found in it.
package struct SecretRewriting: Sendable {
    fileprivate enum Coding { case url, form, json, none }

    /// The fields whose values may have any scheme, and the schemes that stand in other places too.
    private static let credentialFields: Set<String> = [
        "authorization", "proxy-authorization", "x-forwarded-authorization", "x-original-authorization",
    ]
    private static let knownSchemes = ["bearer", "basic", "token", "dpop"]
    private static let opaqueNames: SecretNameSet = ["*key", "*ticket", "*pin", "*license", "*licence"]

    /// The names of the secrets; tokens are found by the search before a file is written.
    fileprivate private(set) var rules: SecretRules
    fileprivate let pseudonyms: Pseudonyms
    private let redaction: Redaction
    private let allowed: Set<SecretAllowance.Rule>
    private var allowedItems: SecretNameSet = []
    /// Finds the allowed places in JSON; nil without such a place.
    fileprivate var allowedJSON: SecretRules?

    package init(_ redaction: Redaction, by pseudonyms: Pseudonyms, allowing allowances: [SecretAllowance] = []) {
        (self.redaction, self.pseudonyms, rules) = (redaction, pseudonyms, redaction.rules)
        rules.tokens = false
        allowed = Set(allowances.map(\.rule))
        var paths: Set<JSONPath> = []
        for rule in allowed {
            switch rule {
            case .item(let name): allowedItems.insert(name)
            case .json(let pattern): paths.insert(pattern.path)
            case .text, .field, .kind: break
            }
        }
        guard !paths.isEmpty else { return }
        allowedJSON = SecretRules()
        allowedJSON?.json = JSONMatcher(paths)
    }

    /// Replaces the secrets of a URL, a reference, or a path with its query, which is as valid as before.
    package func applied(toURL url: String) -> String { replacingKnown(in: rewritten(url: url)) }

    /// Replaces the secrets in fields; the scheme of credentials and the names and attributes of cookies stay.
    package func applied(to fields: HTTPFields) -> HTTPFields {
        var fields = fields
        func change(_ change: (HTTPField) -> String) {
            for index in fields.indices {
                let value = change(fields[index])
                if value != fields[index].value { fields[index].value = value }
            }
        }
        change { field in
            if redaction.isNamedSecret(field) || isOpaqueSecret(field) { return rewritten(inSecretField: field) }
            return rewritten(json: field.value) ?? rewritten(url: field.value, orText: !field.isURL)
        }
        change { replacingKnown(in: $0.value) }
        return fields
    }

    /// Replaces the secrets in content without a content coding; binary content, UTF-16 and UTF-32 stay unchanged.
    package func applied(to content: Data, mediaType: String?) -> Data {
        let kind = ContentKind(mediaType: mediaType)
        let content = kind == .multipart ? rewritten(multipart: content, mediaType: mediaType ?? "") : content
        let bytes = Array(content)
        guard !bytes.isEmpty, kind.isReadable(bytes) else { return content }
        let rewritten = rewritten(content: bytes, kind: kind, mediaType: mediaType)
        let known = pseudonyms.known.replacing(in: rewritten ?? bytes)
        return (known ?? rewritten).map { Data($0) } ?? content
    }

    /// Replaces one random word that is all of an answer if its path ends with the name of a secret, as in `GET /auth/token`.
    func applied(toWordIn content: Data, mediaType: String?, answering url: String) -> Data {
        guard [.text, .unknown].contains(ContentKind(mediaType: mediaType)), content.count <= 4096,
            case let bytes = Array(content), let start = bytes.firstIndex(where: { $0 > 0x20 }),
            let end = bytes.lastIndex(where: { $0 > 0x20 }), case let word = bytes[start...end], Self.isRandom(word),
            let name = url.utf8.prefix(while: { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
                .split(separator: UInt8(ascii: "/")).last,
            rules.formNames.secrecy(of: Array(name)) != nil,
            let text = replacement(of: NamedSecret(Array(word), named: name, at: .text))
        else { return content }
        return Data(bytes[..<start] + text + bytes[(end + 1)...])
    }

    /// The text in place of a secret; nil if it stays, because it is left, empty or masked already.
    private func replacement(of secret: NamedSecret, isLeft: Bool = false) -> [UInt8]? {
        let isMasked = secret.bytes.isEmpty || secret.bytes.elementsEqual(redaction.placeholder.utf8)
        guard isLeft || !isMasked else { return nil }
        if isLeft || isAllowed(secret) {
            pseudonyms.leave(secret)
            return nil
        }
        let text = pseudonyms.replacement(of: secret)
        // A server may repeat the password of Basic credentials (RFC 7617), and the user name beside a mere word.
        if let pair = Base64Text.decode(secret.bytes[...], where: Base64Text.isText),
            let colon = pair.firstIndex(of: UInt8(ascii: ":")), String(validating: pair, as: UTF8.self) != nil
        {
            let (name, password) = (Array(pair[..<colon]), Array(pair[(colon + 1)...]))
            for part in PlainWord.isPlain(password) && !PlainWord.isPlain(name) ? [name, password] : [password] {
                _ = replacement(of: NamedSecret(part, named: secret.name, at: secret.place))
            }
        }
        return text
    }

    /// Whether a secret stays, by its value, the name of its item, or its name in JSON.
    private func isAllowed(_ secret: NamedSecret) -> Bool {
        if allowed.contains(.text(secret.bytes)) { return true }
        switch secret.place {
        case .cookie, .item, .text: return allowedItems.secrecy(of: secret.name) != nil
        case .json:
            // In text that is only nearly JSON, places are not known.
            let secrecy = allowedJSON?.jsonNames.secrecy(of: JSONText.unescape(secret.name[...]))
            return secrecy == .any || secrecy == .text && !secret.isNumber
        case .field, .userinfo, .path: return false
        }
    }

    /// A value with the text in place of the secret in it; nil if the secret stays.
    ///
    /// The scheme before credentials, such as `Bearer`, stays; `scheme` is its length if it is known.
    fileprivate func replaced(
        _ value: ArraySlice<UInt8>, in coding: Coding, named name: some Sequence<UInt8>, at place: NamedSecret.Place,
        scheme: Int? = nil, isNumber: Bool = false, isLeft: Bool = false
    ) -> [UInt8]? {
        let coded = value.dropFirst(scheme ?? Self.schemeLength(in: value))
        let secret =
            switch coding {
            case .url, .form: PercentEscapes.decode(coded, plusIsBlank: coding == .form)
            case .json: JSONText.unescape(coded)
            case .none: Array(coded)
            }
        let found = NamedSecret(secret, named: name, at: place, isNumber: isNumber)
        guard let text = replacement(of: found, isLeft: isLeft) else { return nil }
        let isCoded = !secret.elementsEqual(coded)
        return value[..<coded.startIndex]
            + (coding == .json ? JSONText.escape(text) : isCoded ? PercentEscapes.encode(text) : text)
    }

    private static func changed(_ text: String, by change: ([UInt8]) -> [UInt8]?) -> String {
        change(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func replacingKnown(in text: String) -> String {
        let known = pseudonyms.known
        return known.isEmpty ? text : Self.changed(text, by: known.replacing)
    }

    /// Replaces the secrets in a field of JSON values between commas; nil without a secret, unless the rules may leave one.
    private func rewritten(json value: String) -> String? {
        guard rules.looksIntoContent, value.utf8.contains(0x22), JSONText.isLikely(value.utf8) else { return nil }
        // Patterns look through arrays, so the only effect of the brackets is that commas may separate values.
        let result = JSONRewriting(Array("[\(value)]".utf8), by: self).run()
        guard let bytes = result.bytes else { return result.isWhole && allowedJSON != nil ? value : nil }
        let hasBracket = result.isWhole || bytes.last == UInt8(ascii: "]")
        return String(decoding: bytes.dropFirst().dropLast(hasBracket ? 1 : 0), as: UTF8.self)
    }

    private func rewritten(url: String, orText isText: Bool = false) -> String {
        guard redaction.mayHoldSecret(inURL: url) else { return url }
        return Self.changed(url) { rewritten($0) { isText ? Self.findInText(&$0) : $0.findInURL() } }
    }

    fileprivate static func findInText(_ search: inout SecretSearch) {
        search.findInLinks()
        search.findAssignments()
    }

    /// The bytes without the secrets that a search finds; nil if it finds no secret.
    fileprivate func rewritten(
        _ bytes: [UInt8], in coding: Coding = .url, at place: NamedSecret.Place = .item,
        nesting: Int = SecretRules.nestingLimit, _ find: (inout SecretSearch) -> Void
    ) -> [UInt8]? {
        var search = SecretSearch(bytes, rules: rules, nesting: nesting)
        find(&search)
        return search.replacing { secret in
            let (name, place): ([UInt8], NamedSecret.Place) =
                switch secret.kind {
                case .path: (Array("path".utf8), .path)
                case .userinfo: (Array("userinfo".utf8), .userinfo)
                case .value(let name): (Self.itemName(bytes[name], coding), place)
                case .token: ([], place)
                }
            return replaced(bytes[secret.range], in: coding, named: name, at: place) ?? Array(bytes[secret.range])
        }
    }

    private static func itemName(_ name: ArraySlice<UInt8>, _ coding: Coding) -> [UInt8] {
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
        let essence = mediaType?.mediaTypeEssence
        if essence == "text/event-stream" { return EventLines(bytes).rewritten(by: self) }
        if kind == .form { return rewritten(bytes, in: .form) { $0.findInForm() } }
        if let delimiter = SecretSearch.delimiter(ofMediaType: essence) {
            return rewritten(bytes, in: .none, at: .text) { $0.findInTable(delimiter: delimiter) }
        }
        let isMarkup = bytes.first { $0 > 0x20 && $0 < 0x80 } == UInt8(ascii: "<")
        let marked = rewritten(bytes, in: .none, at: .text) { if isMarkup { $0.findInMarkup() } }
        guard let marked else { return rewritten(bytes, at: .text, Self.findInText) }
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

    /// Replaces the secrets in a secret field by the structure of the field.
    private func rewritten(inSecretField field: HTTPField) -> String {
        let value = Array(field.value.utf8)
        let name = field.name.canonicalName
        guard !allowed.contains(.field(name)) else {
            for part in [value[...], value.dropFirst(Self.schemeLength(in: value[...], isField: true))] {
                pseudonyms.leave(NamedSecret(Array(part), named: name.utf8, at: .field))
            }
            return field.value
        }
        switch field.name {
        case .cookie:
            let pairs = value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            return String(decoding: Array(pairs.map(rewritten).joined(separator: ";".utf8)), as: UTF8.self)
        case .setCookie:
            return SetCookieSplitting.split(field.value).map { text in
                let cookie = Array(text.utf8)
                let pair = cookie.prefix { $0 != UInt8(ascii: ";") }
                return String(decoding: rewritten(cookie: pair) + cookie[pair.endIndex...], as: UTF8.self)
            }.joined(separator: ", ")
        default:
            let scheme = Self.schemeLength(in: value[...], isField: Self.credentialFields.contains(name))
            let text = replaced(value[...], in: .none, named: name.utf8, at: .field, scheme: scheme)
            return text.map { String(decoding: $0, as: UTF8.self) } ?? field.value
        }
    }

    /// Replaces the value of a cookie; the blanks and quotes around it stay.
    private func rewritten(cookie pair: ArraySlice<UInt8>) -> [UInt8] {
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        let name = equals.map { Array(pair[..<$0].drop { $0 == 0x20 }) } ?? Array("cookie".utf8)
        var value = equals.map { pair[($0 + 1)...] } ?? pair
        while value.first == 0x20 { value.removeFirst() }
        while value.last == 0x20 { value.removeLast() }
        if value.count > 1, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") {
            value = value.dropFirst().dropLast()
        }
        let text = replaced(value, in: .url, named: name, at: .cookie, scheme: 0) ?? Array(value)
        return pair[..<value.startIndex] + text + pair[value.endIndex...]
    }

    /// The length of the scheme before credentials (RFC 9110, section 11.4) and the blanks after it; 0 without a scheme.
    private static func schemeLength(in value: ArraySlice<UInt8>, isField: Bool = false) -> Int {
        let word = value.prefix { ($0 | 0x20).isLowercase || isField && ($0.isDigit || $0 == UInt8(ascii: "-")) }
        // A first word that is longer than any registered scheme is more likely a part of a secret.
        guard (1...24).contains(word.count), !isField || (word[word.startIndex] | 0x20).isLowercase,
            isField || knownSchemes.contains(where: { $0.utf8.elementsEqual(word.lazy.map { $0 | 0x20 }) })
        else { return 0 }
        let rest = value[word.endIndex...]
        let blanks = rest.prefix { $0 == 0x20 || $0 == (isField ? 0x09 : UInt8(ascii: "+")) }.count
        let length = word.count + (blanks == 0 && !isField && rest.starts(with: "%20".utf8) ? 3 : blanks)
        return length > word.count && length < value.count ? length : 0
    }

    /// Whether a field may hold a key or a ticket of a service's own, as in `X-Shop-Key`.
    private func isOpaqueSecret(_ field: HTTPField) -> Bool {
        rules.looksIntoContent && Self.opaqueNames.secrecy(ofField: field.name.canonicalName) != nil
            && Self.isRandom(Array(field.value.utf8)[...])
    }

    private static func isRandom(_ word: ArraySlice<UInt8>) -> Bool {
        word.count >= 12 && word.allSatisfy { $0.isInWord || "+/=.~:".utf8.contains($0) }
            && word.contains(where: \.isDigit) && word.contains { ($0 | 0x20).isLowercase } && Set(word).count >= 8
    }
}

/// Replaces the secrets in JSON; each value keeps its type.
///
/// In text that is not complete JSON, the part after the point where the grammar breaks is searched loosely.
private struct JSONRewriting {
    private let bytes: [UInt8]
    private let rewriting: SecretRewriting
    private let nesting: Int
    /// The values that the rules leave, from left to right.
    private let left: [Range<Int>]
    private var paths: TextPlaces?
    private var edits: TextEdits

    init(_ bytes: [UInt8], by rewriting: SecretRewriting, nesting: Int = SecretRules.nestingLimit) {
        (self.bytes, self.rewriting, self.nesting, edits) = (bytes, rewriting, nesting, TextEdits(bytes))
        paths = rewriting.pseudonyms.readsPaths ? TextPlaces(bytes, hits: []) : nil
        let search = rewriting.allowedJSON.map { JSONSecrets(bytes, rules: $0) }
        // A text may be cut within a value.
        let cut = search?.fault?.secret.map { $0.start..<bytes.count }
        left = (search?.places.filter { $0.kind == .value }.map(\.range) ?? []) + [cut].compactMap(\.self)
    }

    /// The JSON without its secrets, or nil if it has none; and whether it is whole.
    consuming func run() -> (bytes: [UInt8]?, isWhole: Bool) {
        let secrets = JSONSecrets(bytes, rules: rewriting.rules)
        for place in secrets.places {
            switch (place.kind, place.secrecy) {
            case (.string, nil): rewriteSecrets(inString: place.range, named: place.name)
            case (.string, _): rewrite(place.range, named: place.name)
            case (.scalar, .any): rewrite(place.range, named: place.name, isNumber: true)
            default: break
            }
        }
        guard let fault = secrets.fault else { return (edits.result, true) }
        let head = edits.prefix(upTo: fault.token).count
        rewriteRest(from: fault.token, valueName: fault.secret?.name)
        let result = edits.result ?? bytes
        let rest = Array(result[head...])
        if let links = rewriting.rewritten(rest, { $0.findInLinks() }), links != rest {
            return (result[..<head] + links, false)
        }
        return (edits.result, false)
    }

    /// Replaces a string between its quotation marks, or a number; the place in a text that is only nearly JSON is loose.
    private mutating func rewrite(
        _ range: Range<Int>, named name: Range<Int>, isNumber: Bool = false, isLoose: Bool = false
    ) {
        let isLeft = !isLoose && left.contains { $0.contains(range) }
        let pattern = isLoose ? nil : paths?.pattern(of: range.lowerBound)
        let text = rewriting.replaced(
            bytes[range], in: isNumber ? .none : .json, named: bytes[name], at: .json(pattern: pattern),
            scheme: isNumber ? 0 : nil, isNumber: isNumber, isLeft: isLeft)
        if let text, !text.elementsEqual(bytes[range]) { edits.replace(range, with: text) }
    }

    /// Replaces the secrets in the URLs or the JSON of a string that is not secret as a whole.
    private mutating func rewriteSecrets(inString range: Range<Int>, named name: Range<Int>) {
        guard bytes[range].contains(where: { "{[?#/\\=:".utf8.contains($0) }) else { return }
        let text = JSONText.unescape(bytes[range])
        if JSONText.isLikely(text) {
            guard nesting > 0 else { return rewrite(range, named: name) }
            let inner = JSONRewriting(text, by: rewriting, nesting: nesting - 1).run()
            if let bytes = inner.bytes { return edits.replace(range, with: JSONText.escape(bytes)) }
            // A search for assignments would find a value that the rules for JSON leave.
            if inner.isWhole, rewriting.allowedJSON != nil { return }
        }
        if let rewritten = rewriting.rewritten(text, nesting: nesting, SecretRewriting.findInText), rewritten != text {
            edits.replace(range, with: JSONText.escape(rewritten))
        }
    }

    /// Replaces the secrets in text that is nearly JSON: incomplete, wrapped in a call, or only labelled as JSON.
    ///
    /// With a `valueName`, the text starts with its value.
    private mutating func rewriteRest(from start: Int, valueName: Range<Int>?) {
        var index = valueName.map { rewriteLooseValue(at: start, named: $0) } ?? start
        while let quote = bytes[index...].firstIndex(of: UInt8(ascii: "\"")) {
            index = quote + 1
            guard let end = bytes[index...].prefix(64).firstIndex(of: UInt8(ascii: "\"")),
                let colon = bytes[(end + 1)...].firstIndex(where: { $0 > 0x20 }), bytes[colon] == UInt8(ascii: ":"),
                let secrecy = rewriting.rules.jsonNames.secrecy(of: JSONText.unescape(bytes[index..<end]))
            else { continue }
            let value = bytes[(colon + 1)...].firstIndex { $0 > 0x20 } ?? bytes.count
            let isText = value < bytes.count && bytes[value] == UInt8(ascii: "\"")
            index = secrecy == .any || isText ? rewriteLooseValue(at: value, named: index..<end) : value
        }
    }

    private mutating func rewriteLooseValue(at start: Int, named name: Range<Int>) -> Int {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else {
            let end = bytes[start...].firstIndex { $0 <= 0x20 || ",}]\"".utf8.contains($0) } ?? bytes.count
            rewrite(start..<end, named: name, isNumber: true, isLoose: true)
            return end
        }
        var end = start + 1
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        rewrite(start + 1..<min(end, bytes.count), named: name, isLoose: true)
        return min(end + 1, bytes.count)
    }
}

/// The events of a stream (WHATWG HTML, section 9.2.6), whose data, such as JSON, may extend over several lines.
struct EventLines {
    let bytes: [UInt8]
    /// The events that have data: the ranges of the data in its lines, and the range of its type, if it has one.
    private(set) var events: [(data: [Range<Int>], type: Range<Int>?)] = []
    /// The other lines that are not empty: other fields, comments, and lines that are no field.
    private(set) var otherLines: [Range<Int>] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var event: (data: [Range<Int>], type: Range<Int>?) = ([], nil)
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            if start == end {
                if !event.data.isEmpty { events.append(event) }
                event = ([], nil)
            } else if let value = Self.value(of: "data", in: bytes[start..<end]) {
                event.data.append(value)
            } else {
                event.type = Self.value(of: "event", in: bytes[start..<end]) ?? event.type
                otherLines.append(start..<end)
            }
            start = end + (bytes[end...].starts(with: [0x0D, 0x0A]) ? 2 : 1)
        }
        // A stream may be cut within an event.
        if !event.data.isEmpty { events.append(event) }
    }

    /// The data of each event that is JSON, and of each line of others: some servers write no empty line between events.
    static func data(in bytes: [UInt8]) -> [[UInt8]] {
        let stream = EventLines(bytes)
        return stream.events.flatMap { data, _ in stream.json(data).map { [$0] } ?? data.map { Array(bytes[$0]) } }
    }

    /// The data of an event, as its reader gets them, if they are JSON.
    private func json(_ data: [Range<Int>]) -> [UInt8]? {
        let whole = joined(data)
        var scanner = JSONScanner(whole)
        return JSONText.isLikely(whole) && (try? scanner.skipValue()) != nil && scanner.next() == nil ? whole : nil
    }

    /// The data of an event, as its reader gets them.
    func joined(_ data: [Range<Int>]) -> [UInt8] { Array(data.map { bytes[$0] }.joined(separator: [0x0A])) }

    /// The stream without its secrets, each line as a line, since no string of JSON has a line feed; nil if it has none.
    fileprivate func rewritten(by rewriting: SecretRewriting) -> [UInt8]? {
        var joinedLines: [Int: [UInt8]] = [:]
        for (data, _) in events {
            guard data.count > 1, let whole = json(data) else { continue }
            let lines = (JSONRewriting(whole, by: rewriting).run().bytes ?? whole)
                .split(separator: 0x0A, omittingEmptySubsequences: false)
            for (line, text) in zip(data, lines) { joinedLines[line.lowerBound] = Array(text) }
        }
        let lines = (events.flatMap(\.data) + otherLines).sorted { $0.lowerBound < $1.lowerBound }
        return bytes.replacing(lines) { line in
            let old = Array(bytes[line])
            if let text = joinedLines[line.lowerBound] { return text == old ? nil : text }
            let json = JSONText.isLikely(old) ? JSONRewriting(old, by: rewriting).run() : (bytes: nil, isWhole: false)
            if json.isWhole { return json.bytes }
            return rewriting.rewritten(json.bytes ?? old, at: .text, SecretRewriting.findInText) ?? json.bytes
        }
    }

    /// The types of the events, as a reader gets them: an event without one is a message.
    var typeNames: Set<String> {
        let names = events.map { String(decoding: bytes[$0.type ?? 0..<0], as: UTF8.self) }
        return Set(names.map { $0.isEmpty ? "message" : $0 })
    }

    private static func value(of name: String, in line: ArraySlice<UInt8>) -> Range<Int>? {
        guard line.starts(with: name.utf8) else { return nil }
        let rest = line.dropFirst(name.utf8.count)
        guard let colon = rest.first else { return line.endIndex..<line.endIndex }
        guard colon == UInt8(ascii: ":") else { return nil }
        let value = rest.dropFirst()
        return (value.first == 0x20 ? value.startIndex + 1 : value.startIndex)..<value.endIndex
    }
}

extension ContentKind {
    /// Whether content can be searched byte by byte, as ASCII with any other bytes in between.
    ///
    /// Text often has an older encoding, and a single byte that is not UTF-8 must not hide all secrets.
    fileprivate func isReadable(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .json, .form, .markup, .text: !Self.isWide(bytes)
        case .binary, .unknown, .multipart:
            !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
                || bytes.allSatisfy { $0 >= 0x20 || (0x09...0x0D).contains($0) }
        }
    }

    /// Whether text is in UTF-16 or UTF-32: by its byte order mark, or by NULs among the ASCII at its start.
    static func isWide(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return true }
        let start = bytes.prefix(4)
        let isASCII = start.allSatisfy { $0 == 0 || $0 < 0x7F && $0 >= 0x20 || (0x09...0x0D).contains($0) }
        let zeros = start.map { $0 == 0 ? "0" : "x" }.joined()
        return isASCII && ["000x", "0x0x", "x000", "x0x0"].contains(zeros)
    }
}

extension Redaction {
    /// Replaces only the values of items in the query of a URL.
    init(ofItems names: Set<String>) {
        self.init(queryItems: SecretNames(names), userinfo: false, masksTokens: false)
    }
}
