package import Decorum
import DecorumArchive
package import Foundation
package import HTTPTypes

/// Replaces the secrets of messages by a strategy, such as ``Pseudonyms``.
///
/// A log masks values, and a recording is played back later. Therefore values of JSON keep their type here, and content
/// that cannot be parsed stays unchanged except for the secrets that are found in it.
package struct SecretRewriting: Sendable {
    let redaction: Redaction
    let strategy: any SecretReplacing
    let allowed: AllowedPlaces

    /// Creates a rewriting.
    ///
    /// - Parameters:
    ///   - redaction: The redaction that names the secrets.
    ///   - strategy: The strategy that decides the text in place of each.
    ///   - allowances: The values and places that stay.
    package init(
        _ redaction: Redaction, by strategy: some SecretReplacing, allowing allowances: [SecretAllowance] = []
    ) {
        self.redaction = redaction
        self.strategy = strategy
        allowed = AllowedPlaces(allowances)
    }

    /// Replaces the secrets of a URL, a reference, or a path with its query.
    ///
    /// - Parameter url: The URL, which need not be valid.
    /// - Returns: The URL, which is as valid as before.
    package func applied(toURL url: String) -> String {
        replacingKnown(in: rewritten(url: url))
    }

    /// Replaces the secrets in header or trailer fields.
    ///
    /// The scheme of credentials, the names of cookies and the attributes of cookies stay. Empty values stay empty.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - secretFields: The names that count as secret in addition to the listed ones.
    /// - Returns: The fields in the same order.
    package func applied(to fields: HTTPFields, secretFields: Set<HTTPField.Name> = []) -> HTTPFields {
        var fields = fields
        for index in fields.indices {
            let field = fields[index]
            let isSecret =
                redaction.isNamedSecret(field, secretFields: secretFields)
                || redaction.looksIntoContent && OpaqueValues.isSecret(field)
            let value = isSecret ? rewritten(inSecretField: field) : rewritten(valueOf: field)
            // Setting a field copies all fields.
            if value != field.value { fields[index].value = value }
        }
        for index in fields.indices {
            let value = replacingKnown(in: fields[index].value)
            if value != fields[index].value { fields[index].value = value }
        }
        return fields
    }

    /// Replaces the secrets in content.
    ///
    /// In text, the secrets in URLs and the known secrets are replaced. Text does not have to be UTF-8: invalid bytes
    /// stay as they are. Content in UTF-16 or UTF-32, and binary content, stays unchanged.
    ///
    /// - Parameters:
    ///   - content: The bytes, without a content coding.
    ///   - mediaType: The value of `Content-Type`; nil where there is none.
    /// - Returns: The content; its length may differ.
    package func applied(to content: Data, mediaType: String?) -> Data {
        let kind = ContentKind(mediaType: mediaType)
        // Each part is checked separately for being text.
        let content = kind == .multipart ? rewritten(multipart: content, mediaType: mediaType ?? "") : content
        let bytes = Array(content)
        guard !bytes.isEmpty, kind.isReadable(bytes) else { return content }
        let rewritten = rewritten(content: bytes, kind: kind, mediaType: mediaType)
        let known = strategy.replacingKnown(in: rewritten ?? bytes)
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
            strategy.leave(secret)
            return nil
        }
        let text = strategy.replacement(of: secret)
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

    private func replacingKnown(in text: String) -> String {
        guard strategy.hasKnown else { return text }
        return strategy.replacingKnown(in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func rewritten(valueOf field: HTTPField) -> String {
        let value = field.value
        if let rewritten = rewritten(json: value) { return rewritten }
        let isURL = field.name == .location || field.name == .contentLocation || field.name == .referer
        return isURL ? rewritten(url: value) : rewritten(text: value)
    }

    /// Replaces the secrets in the value of a field that holds one JSON value or several between commas; nil when it
    /// holds no secret, unless the rules may leave one.
    private func rewritten(json value: String) -> String? {
        guard redaction.looksIntoContent, value.utf8.contains(UInt8(ascii: "\"")), JSONText.isLikely(value.utf8) else {
            return nil
        }
        // Patterns look through arrays, so the only effect of the brackets is that commas may separate values.
        let result = JSONRewriting(Array("[\(value)]".utf8), by: self).run()
        guard result.foundSecret else { return result.isWhole && allowed.json != nil ? value : nil }
        let hasBracket = result.isWhole || result.bytes.last == UInt8(ascii: "]")
        return String(decoding: result.bytes.dropFirst().dropLast(hasBracket ? 1 : 0), as: UTF8.self)
    }

    private func rewritten(url: String) -> String {
        guard redaction.mayHoldSecret(inURL: url) else { return url }
        var search = SecretSearch(Array(url.utf8), redaction: redaction, findsTokens: false)
        search.findInURL()
        return search.rewritten(by: self).map { String(decoding: $0, as: UTF8.self) } ?? url
    }

    private func rewritten(text: String) -> String {
        guard redaction.mayHoldSecret(inURL: text) else { return text }
        var search = SecretSearch(Array(text.utf8), redaction: redaction, findsTokens: false)
        search.findInLinks()
        search.findAssignments()
        return search.rewritten(by: self).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func rewritten(content bytes: [UInt8], kind: ContentKind, mediaType: String?) -> [UInt8]? {
        if kind == .json || kind != .form && JSONText.isLikely(bytes) {
            let result = JSONRewriting(bytes, by: self).run()
            return result.foundSecret ? result.bytes : nil
        }
        if kind == .multipart { return nil }
        if EventStreamRewriting.includes(mediaType) { return EventStreamRewriting(rewriting: self).rewritten(bytes) }
        let marked = kind == .form ? nil : rewritten(markup: bytes)
        var search = SecretSearch(marked ?? bytes, redaction: redaction, findsTokens: false)
        if kind == .form {
            search.findInForm()
            return search.rewritten(by: self, coding: .form)
        }
        if let delimiter = TableSecrets.delimiter(ofMediaType: mediaType) {
            search.add(TableSecrets.all(in: bytes, delimiter: delimiter, names: redaction.jsonNames))
            return search.rewritten(by: self, coding: .none, at: .text)
        }
        search.findInLinks()
        if marked == nil { search.findAssignments() }
        return search.rewritten(by: self, at: .text) ?? marked
    }

    private func rewritten(markup bytes: [UInt8]) -> [UInt8]? {
        guard bytes.first(where: { $0 > 0x20 && $0 < 0x80 }) == UInt8(ascii: "<") else { return nil }
        var search = SecretSearch(bytes, redaction: redaction, findsTokens: false)
        search.add(MarkupSecrets.all(in: bytes, names: redaction.jsonNames))
        return search.rewritten(by: self, coding: .none, at: .text)
    }

    private func rewritten(multipart content: Data, mediaType: String) -> Data {
        MultipartPart.replacing(in: content, mediaType: mediaType) { part in
            let bytes = Array(part.content)
            guard redaction.formNames.isSecret(bytes[...], of: part.name) else {
                return applied(to: part.content, mediaType: part.mediaType)
            }
            return replacement(of: NamedSecret(bytes, named: part.name, at: .item)).map { Data($0) }
        }
    }
}
