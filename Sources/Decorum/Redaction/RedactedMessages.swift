public import Foundation
public import HTTPTypes

extension Redaction {
    /// Replaces the secrets in header or trailer fields.
    ///
    /// The whole value of a listed field is replaced, also where several fields have the name. In all other fields,
    /// three kinds of secrets are replaced: in URLs, the user name, the password and the values of listed query items;
    /// in JSON, the same secrets as in JSON content; and tokens, found by their shape.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - secretFields: Further names that count as secret, such as ``RequestOptions/secretFields``.
    /// - Returns: The fields in the same order, with the values replaced.
    public func applied(to fields: HTTPFields, secretFields: Set<HTTPField.Name> = []) -> HTTPFields {
        var fields = fields
        for index in fields.indices {
            let value = fields[index].value
            let shown =
                isNamedSecret(fields[index], secretFields: secretFields)
                ? placeholder
                : redacted(inJSON: value) ?? (fields[index].isURL ? applied(toURL: value) : applied(toText: value))
            // Setting a field copies all fields.
            if shown != value { fields[index].value = shown }
        }
        return fields
    }

    /// Replaces the secrets in the head of a request: its target, its authority and its fields.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - secretFields: Further names that count as secret, such as ``RequestOptions/secretFields``.
    /// - Returns: The head with the values replaced.
    public func applied(to head: HTTPRequest, secretFields: Set<HTTPField.Name> = []) -> HTTPRequest {
        var shown = head
        shown.headerFields = applied(to: head.headerFields, secretFields: secretFields)
        shown.path = head.path.map { applied(toPath: $0, of: head.authority) }
        shown.authority = head.authority.map(applied(toAuthority:))
        return shown
    }

    /// Replaces the secrets in a URL, a reference, or a path with its query.
    ///
    /// - Parameter url: The URL, which need not be valid.
    /// - Returns: The URL with its user name, its password, the values of listed items and tokens replaced.
    public func applied(toURL url: String) -> String {
        mayHoldSecret(inURL: url) || mayHoldToken(url) ? masked(url) { $0.findInURL() } : url
    }

    /// Replaces the secrets in a path with its query.
    func applied(toPath path: String, of authority: String?) -> String {
        guard secretPaths, let authority, let host = SecretPath.addressedHost(of: authority) else {
            return applied(toURL: path)
        }
        let start = "//" + host
        let url = applied(toURL: start + path)
        return url.hasPrefix(start) ? String(url.dropFirst(start.count)) : applied(toURL: path)
    }

    /// Replaces the secrets in the authority of a URL.
    func applied(toAuthority authority: String) -> String {
        guard authority.mayHoldSecretPart || mayHoldToken(authority) else { return authority }
        // In a URL, the authority follows the two slashes.
        return String(applied(toURL: "//" + authority).dropFirst(2))
    }

    /// Replaces the secrets in the URLs of a text, and tokens.
    ///
    /// - Parameter text: The text, such as a sentence for a log.
    /// - Returns: The text with the secrets replaced.
    public func applied(toText text: String) -> String {
        guard text.hasMarkOfSecret(named: rules.jsonNames) || mayHoldToken(text) else { return text }
        return masked(text) { search in
            search.findInText()
            search.findAssignments()
        }
    }

    /// Replaces the secrets in content, by its media type.
    ///
    /// - JSON is any type that ends in `json`, newline-delimited JSON, and content without a media type that is JSON with a
    ///   secret. Everything after the first byte that breaks the grammar (RFC 8259), or after an early end, is replaced.
    /// - Forms are `application/x-www-form-urlencoded`.
    /// - In a multipart body (RFC 2046), parts whose names are among ``formNames`` are replaced as a whole, and all other
    ///   parts are searched by their media types.
    /// - XML and HTML are searched for the names of elements and attributes, and tables (`text/csv`, RFC 4180, and
    ///   tab-separated values) for the headings of columns.
    /// - Other text is searched for values of secret names in its lines, as in `password: …`, and for URLs.
    /// - Binary content is returned unchanged, so the caller decides whether to write it.
    ///
    /// - Parameters:
    ///   - content: The bytes, without a content coding.
    ///   - mediaType: The value of `Content-Type`; nil when absent.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(to content: Data, mediaType: String?) -> Data {
        guard !content.isEmpty, rules.looksIntoContent else { return content }
        let kind = ContentKind(mediaType: mediaType)
        switch kind {
        case .binary: return content
        case .multipart:
            return MultipartPart.replacing(in: content, mediaType: mediaType ?? "") { part in
                rules.formNames.isSecret(Array(part.content)[...], of: part.name[...])
                    ? Data(placeholder.utf8) : applied(to: part.content, mediaType: part.mediaType)
            }
        case .json, .unknown:
            guard kind == .json || JSONText.isLikely(content) else { break }
            let json = JSONSecrets.masked(Array(content), rules: rules, placeholder: placeholder)
            if kind == .json || json.foundSecret { return Data(json.bytes) }
        case .form, .markup, .text: break
        }
        var search = SecretSearch(Array(content), rules: rules)
        var shown = PercentEscapes.encode(Array(placeholder.utf8))
        if kind == .form {
            search.findInForm()
        } else if kind == .markup {
            search.findInMarkup()
            shown = placeholder.utf8.filter { !"<&\"'".utf8.contains($0) }
        } else if let delimiter = SecretSearch.delimiter(ofMediaType: mediaType?.mediaTypeEssence) {
            search.findInTable(delimiter: delimiter)
            shown = placeholder.utf8.filter { $0 != delimiter && $0 != UInt8(ascii: "\"") }
        } else {
            search.findInLinks()
            search.findAssignments()
        }
        search.findTokens()
        return search.replacing { _ in shown }.map { Data($0) } ?? content
    }

    private func masked(_ text: String, _ find: (inout SecretSearch) -> Void) -> String {
        var search = SecretSearch(Array(text.utf8), rules: rules)
        find(&search)
        search.findTokens()
        guard !search.found.isEmpty else { return text }
        let placeholder = PercentEscapes.encode(Array(placeholder.utf8))
        return search.replacing { _ in placeholder }.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Replaces the secrets in the value of a field that holds one JSON value or several between commas; nil when it
    /// holds no secret.
    private func redacted(inJSON value: String) -> String? {
        guard value.mayBeJSON, rules.looksIntoContent else { return nil }
        // Patterns look through arrays, so the only effect of the brackets is that commas may separate values.
        let json = JSONSecrets.masked(Array("[\(value)]".utf8), rules: rules, placeholder: placeholder)
        guard json.foundSecret || !json.isWhole else { return nil }
        // When the text is incomplete, its end was replaced together with the last bracket.
        return String(decoding: json.bytes.dropFirst().dropLast(json.isWhole ? 1 : 0), as: UTF8.self)
    }

    /// Whether a field counts as secret: by its name, its indexing strategy, or its value.
    ///
    /// A value counts as secret if it is JSON with a secret or holds a token. URLs do not count, since a server needs
    /// the URLs that it knows.
    package func isSecret(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        isNamedSecret(field, secretFields: secretFields) || isSecret(value: field.value)
    }

    /// Whether the value of a field is a secret by itself, under a name that is not listed.
    func isSecret(value: String) -> Bool {
        !TokenSearch.isPlain(value)
            && (redacted(inJSON: value) != nil
                || mayHoldToken(value) && !TokenSearch.tokens(in: Array(value.utf8)).isEmpty)
    }

    /// Whether the value of a field counts as secret by its name or its indexing strategy.
    ///
    /// A value that must not be indexed is sensitive by HPACK (RFC 7541, section 7.1.3).
    package func isNamedSecret(_ field: HTTPField, secretFields: Set<HTTPField.Name> = []) -> Bool {
        declaredFields && (secretFields.contains(field.name) || field.indexingStrategy == .disallow)
            || rules.fields.contains(field.name)
            || rules.fieldNames.isSecret(field.value, ofField: field.name.canonicalName)
    }

    /// Whether a URL needs a search for secrets, apart from tokens: most do not.
    package func mayHoldSecret(inURL url: String) -> Bool {
        url.mayHoldSecretPart || secretPaths && SecretPath.mayHoldSecret(url)
    }

    /// Whether a text may hold a token that would be replaced.
    private func mayHoldToken(_ text: String) -> Bool { masksTokens && TokenSearch.mayHoldToken(text) }
}

extension Redaction {
    /// The short description of an error, or the name of its type with its code.
    static func name(of error: any Error) -> String {
        let name =
            switch error {
            case let error as any DescribableError: error.shortDescription
            case let error as any CustomNSError: "\(type(of: error).errorDomain) \(error.errorCode)"
            case _ where type(of: error) is NSError.Type: "\((error as NSError).domain) \((error as NSError).code)"
            default: String(describing: type(of: error))
            }
        return String(standard.applied(toText: name).prefix(100))
    }

    /// A URL for a description: without its fragment, which is never sent and often is a secret as a whole, and without
    /// the secrets that ``standard`` knows.
    package static func described(_ url: String, covering queryItems: Set<String> = []) -> String {
        let url = Substring(url.utf8.prefix { $0 != UInt8(ascii: "#") })
        return standard.covering(queryItems: queryItems).applied(toURL: String(url))
    }

    /// A URL for the description of an error: without its query and its fragment, and without the secrets that
    /// ``standard`` knows.
    static func describedPath(_ url: String) -> String {
        standard.applied(toURL: String(Substring(url.utf8.prefix { !"?#".utf8.contains($0) })))
    }

    /// A sentence for the description of an error, after the one that names the server that a redirection led to.
    static func sentence(onRedirectionBy url: URL) -> String {
        "\(describedPath(url.absoluteString)) redirected the request there."
    }

    /// Words of a platform or a server for a description: one line of at most 200 bytes, without secrets and without
    /// characters that control a terminal.
    ///
    /// A full stop at their end is left out, so that they can stand within a sentence.
    static func shownWords(_ words: String) -> String { shownLine(words).trimmingSuffix(".") }

    /// The same, with the full stop.
    static func shownLine(_ words: String) -> String {
        let line = words.map { character in
            let isControl = character.unicodeScalars.contains {
                [.control, .format].contains($0.properties.generalCategory)
            }
            return character.isNewline || isControl ? " " : character
        }
        // A secret that was cut would no longer be found.
        return standard.applied(toText: String(line)).cut(toBytes: 200).trimmingCharacters(in: .whitespaces)
    }
}

extension HTTPField {
    /// Whether the whole value is a URL or a reference.
    package var isURL: Bool { name == .location || name == .contentLocation || name == .referer }
}

extension String {
    func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }

    /// Whether a text has a mark without which it holds neither a part of a URL nor an assignment to a secret name: most
    /// have none.
    fileprivate func hasMarkOfSecret(named names: SecretNameSet) -> Bool {
        // The last two bytes of what may be a name, which blanks and quotation marks may follow.
        var (before, last) = (0 as UInt8, 0 as UInt8)
        return !allUTF8 { byte in
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return false
            case UInt8(ascii: "="), UInt8(ascii: ":"): return names.isEmpty || !names.mayEnd(in: before, last)
            case 0x20, 0x09, UInt8(ascii: "\""), UInt8(ascii: "'"): return true
            default:
                (before, last) = (last, byte)
                return true
            }
        }
    }

    /// Whether this starts like a JSON object or array, and holds a string.
    fileprivate var mayBeJSON: Bool { !allUTF8 { $0 != UInt8(ascii: "\"") } && JSONText.isLikely(utf8) }
}
