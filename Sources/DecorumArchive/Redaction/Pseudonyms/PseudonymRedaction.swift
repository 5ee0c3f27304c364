public import Decorum
public import Foundation
public import HTTPTypes

extension Redaction {
    /// Gives the secrets of a URL, a reference, or a path with its query their pseudonyms.
    ///
    /// - Parameters:
    ///   - url: The URL, which need not be valid.
    ///   - pseudonyms: The names given so far.
    /// - Returns: The URL, which is as valid as before.
    public func applied(toURL url: String, naming pseudonyms: Pseudonyms) -> String {
        replacingKnown(in: named(inURL: url, pseudonyms), pseudonyms)
    }

    /// Gives the secrets in a text, which are those of its URLs and all known ones, their pseudonyms.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - pseudonyms: The names given so far.
    /// - Returns: The text.
    public func applied(toText text: String, naming pseudonyms: Pseudonyms) -> String {
        replacingKnown(in: named(inText: text, pseudonyms), pseudonyms)
    }

    /// Gives the secrets in header or trailer fields their pseudonyms.
    ///
    /// The scheme of credentials stays, and so do the names of cookies and their attributes. What is empty stays empty.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - secretFields: The names that count as secret beside the listed ones.
    ///   - pseudonyms: The names given so far.
    /// - Returns: The fields in the same order.
    public func applied(
        to fields: HTTPFields, secretFields: Set<HTTPField.Name> = [], naming pseudonyms: Pseudonyms
    ) -> HTTPFields {
        var fields = fields
        for index in fields.indices {
            let field = fields[index]
            let value =
                isNamedSecret(field, secretFields: secretFields)
                ? named(inSecretField: field, pseudonyms) : named(inValueOf: field, pseudonyms)
            if value != field.value { fields[index].value = value }
        }
        for index in fields.indices {
            let value = replacingKnown(in: fields[index].value, pseudonyms)
            if value != fields[index].value { fields[index].value = value }
        }
        return fields
    }

    /// Gives the secrets in the head of a request their pseudonyms.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - secretFields: The names that count as secret beside the listed ones.
    ///   - pseudonyms: The names given so far.
    /// - Returns: The head.
    public func applied(
        to head: HTTPRequest, secretFields: Set<HTTPField.Name> = [], naming pseudonyms: Pseudonyms
    ) -> HTTPRequest {
        var head = head
        // The target has its turn first, so that it gives the names, and a second time for what the fields make known.
        head.path = head.path.map { named(inURL: $0, pseudonyms) }
        // An authority is the part of a URL behind the two slashes.
        head.authority = head.authority.map { String(applied(toURL: "//" + $0, naming: pseudonyms).dropFirst(2)) }
        head.headerFields = applied(to: head.headerFields, secretFields: secretFields, naming: pseudonyms)
        head.path = head.path.map { replacingKnown(in: $0, pseudonyms) }
        return head
    }

    /// Gives the secrets in the fields of a response their pseudonyms.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - secretFields: The names that count as secret beside the listed ones.
    ///   - pseudonyms: The names given so far.
    /// - Returns: The head.
    public func applied(
        to head: HTTPResponse, secretFields: Set<HTTPField.Name> = [], naming pseudonyms: Pseudonyms
    ) -> HTTPResponse {
        var head = head
        head.headerFields = applied(to: head.headerFields, secretFields: secretFields, naming: pseudonyms)
        return head
    }

    /// Gives the secrets in content their pseudonyms.
    ///
    /// Unlike in a log, values of JSON keep their type, and what cannot be read stays as it is but for the secrets that
    /// are found in it: what is played is what was received. A string is named; a number of at least six digits becomes
    /// zero; `true`, `false`, `null`, what is empty, and shorter numbers stay. In text, the URLs and the known secrets are
    /// looked at. Text need not be UTF-8: a byte that is not is a byte like another. Content in UTF-16 or UTF-32, and
    /// binary content, stays as it is.
    ///
    /// - Parameters:
    ///   - content: The bytes, without a content coding.
    ///   - mediaType: The value of `Content-Type`; nil where there is none.
    ///   - pseudonyms: The names given so far.
    /// - Returns: The content; its length may differ.
    public func applied(to content: Data, mediaType: String?, naming pseudonyms: Pseudonyms) -> Data {
        let kind = ContentKind(mediaType: mediaType)
        // Each part is text or not by itself.
        let content =
            kind == .multipart ? named(inMultipart: content, mediaType: mediaType ?? "", pseudonyms) : content
        let bytes = Array(content)
        guard !bytes.isEmpty, kind.isReadable(bytes) else { return content }
        let named = named(inContent: bytes, kind: kind, pseudonyms)
        let known = pseudonyms.replacingKnown(in: named ?? bytes)
        return (known ?? named).map { Data($0) } ?? content
    }

    /// The pseudonym of a secret; nil for one that stays, because it is empty or replaced already.
    func pseudonym(of secret: [UInt8], named name: some Sequence<UInt8>, in pseudonyms: Pseudonyms) -> [UInt8]? {
        guard !secret.isEmpty, !secret.elementsEqual(placeholder.utf8) else { return nil }
        return Array(pseudonyms.pseudonym(for: secret, named: name).utf8)
    }

    private func replacingKnown(in text: String, _ pseudonyms: Pseudonyms) -> String {
        guard pseudonyms.hasKnown else { return text }
        return pseudonyms.replacingKnown(in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func named(inValueOf field: HTTPField, _ pseudonyms: Pseudonyms) -> String {
        let value = field.value
        if let named = named(inJSON: value, pseudonyms) { return named }
        let isURL = field.name == .location || field.name == .contentLocation || field.name == .referer
        return isURL ? named(inURL: value, pseudonyms) : named(inText: value, pseudonyms)
    }

    /// Names the secrets in the value of a field that holds one JSON value or several between commas; nil where there
    /// is no secret.
    private func named(inJSON value: String, _ pseudonyms: Pseudonyms) -> String? {
        guard looksIntoContent, value.utf8.contains(UInt8(ascii: "\"")), JSONText.isLikely(value.utf8) else {
            return nil
        }
        // An array is looked through, so the brackets change nothing but that commas may stand between values.
        let result = JSONNaming(Array("[\(value)]".utf8), redaction: self, pseudonyms: pseudonyms).run()
        guard result.foundSecret else { return nil }
        let hasBracket = result.isWhole || result.bytes.last == UInt8(ascii: "]")
        return String(decoding: result.bytes.dropFirst().dropLast(hasBracket ? 1 : 0), as: UTF8.self)
    }

    private func named(inURL url: String, _ pseudonyms: Pseudonyms) -> String {
        guard Self.mayHoldSecret(url) else { return url }
        var search = SecretSearch(Array(url.utf8), redaction: self, findsTokens: false)
        search.findInURL()
        return search.named(in: pseudonyms, self).map { String(decoding: $0, as: UTF8.self) } ?? url
    }

    private func named(inText text: String, _ pseudonyms: Pseudonyms) -> String {
        guard Self.mayHoldSecret(text) else { return text }
        var search = SecretSearch(Array(text.utf8), redaction: self, findsTokens: false)
        search.findInLinks()
        return search.named(in: pseudonyms, self).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func named(inContent bytes: [UInt8], kind: ContentKind, _ pseudonyms: Pseudonyms) -> [UInt8]? {
        if kind == .json || kind != .form && JSONText.isLikely(bytes) {
            let result = JSONNaming(bytes, redaction: self, pseudonyms: pseudonyms).run()
            return result.foundSecret ? result.bytes : nil
        }
        if kind == .multipart { return nil }
        let marked = kind == .form ? nil : named(inMarkup: bytes, pseudonyms)
        var search = SecretSearch(marked ?? bytes, redaction: self, findsTokens: false)
        if kind == .form {
            search.findInForm()
            return search.named(in: pseudonyms, self, coding: .form)
        }
        search.findInLinks()
        return search.named(in: pseudonyms, self) ?? marked
    }

    private func named(inMarkup bytes: [UInt8], _ pseudonyms: Pseudonyms) -> [UInt8]? {
        guard bytes.first(where: { $0 > 0x20 && $0 < 0x80 }) == UInt8(ascii: "<") else { return nil }
        var search = SecretSearch(bytes, redaction: self, findsTokens: false)
        search.add(MarkupSecrets.all(in: bytes, names: jsonNames))
        return search.named(in: pseudonyms, self, coding: .markup)
    }

    /// Tells whether a URL, or a text with URLs, has one of the characters that each user name, item and coded value has.
    private static func mayHoldSecret(_ text: String) -> Bool {
        text.containsUTF8 { byte in
            switch byte {
            case UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: "%"), UInt8(ascii: "{"): true
            default: false
            }
        }
    }

    private func named(inMultipart content: Data, mediaType: String, _ pseudonyms: Pseudonyms) -> Data {
        Self.replacingParts(of: content, mediaType: mediaType) { part in
            let bytes = Array(part.content)
            guard formNames.isSecret(bytes[...], of: part.name) else {
                return applied(to: part.content, mediaType: part.mediaType, naming: pseudonyms)
            }
            return pseudonym(of: bytes, named: part.name, in: pseudonyms).map { Data($0) }
        }
    }
}
