public import HTTPTypes

extension Redaction {
    /// Replaces the secrets in header or trailer fields.
    ///
    /// The whole value of a listed field is replaced, and so is each of several fields of one name. In all others,
    /// URLs lose their user name and password and the values of listed query items, JSON loses its secrets as content
    /// does, and tokens are replaced by their shape.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - secretFields: The names that count as secret beside the listed ones, such as
    ///     ``RequestOptions/secretFields``.
    /// - Returns: The fields in the same order, with the values replaced.
    public func applied(to fields: HTTPFields, secretFields: Set<HTTPField.Name> = []) -> HTTPFields {
        var fields = fields
        for index in fields.indices {
            guard let value = replacement(for: fields[index], secretFields: secretFields) else { continue }
            fields[index].value = value
        }
        return fields
    }

    /// Replaces the secrets in the head of a request: its target, its authority and its fields.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - secretFields: The names that count as secret beside the listed ones, such as
    ///     ``RequestOptions/secretFields``.
    /// - Returns: The head with the values replaced.
    public func applied(to head: HTTPRequest, secretFields: Set<HTTPField.Name> = []) -> HTTPRequest {
        var head = head
        head.headerFields = applied(to: head.headerFields, secretFields: secretFields)
        head.path = head.path.map { applied(toURL: $0) }
        head.authority = head.authority.map(applied(toAuthority:))
        return head
    }

    /// Replaces the secrets in the fields of a response.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - secretFields: The names that count as secret beside the listed ones, such as
    ///     ``RequestOptions/secretFields``.
    /// - Returns: The head with the values replaced.
    public func applied(to head: HTTPResponse, secretFields: Set<HTTPField.Name> = []) -> HTTPResponse {
        var head = head
        head.headerFields = applied(to: head.headerFields, secretFields: secretFields)
        return head
    }

    /// Replaces the secrets in a URL, a reference, or a path with its query.
    ///
    /// - Parameter url: The URL, which need not be valid.
    /// - Returns: The URL with its user name, its password, the values of listed items and tokens replaced.
    public func applied(toURL url: String) -> String {
        guard url.mayHoldSecret || mayHoldToken(url) else { return url }
        var secrets = SecretSearch(Array(url.utf8), redaction: self)
        secrets.findInURL()
        secrets.findTokens()
        return secrets.replaced().map { String(decoding: $0, as: UTF8.self) } ?? url
    }

    /// Replaces the secrets in the authority of a URL.
    func applied(toAuthority authority: String) -> String {
        guard authority.mayHoldSecret || mayHoldToken(authority) else { return authority }
        // An authority is the part of a URL behind the two slashes.
        return String(applied(toURL: "//" + authority).dropFirst(2))
    }

    /// Replaces the secrets of the URLs in a text, and tokens.
    ///
    /// - Parameter text: The text, such as a sentence for a log.
    /// - Returns: The text with the secrets replaced.
    public func applied(toText text: String) -> String {
        var secrets = SecretSearch(Array(text.utf8), redaction: self)
        secrets.findInText()
        secrets.findTokens()
        return secrets.replaced().map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func replacement(for field: HTTPField, secretFields: Set<HTTPField.Name>) -> String? {
        isNamedSecret(field, secretFields: secretFields) ? placeholder : replacement(forValueOf: field)
    }

    /// The value of a field whose name says nothing; nil where no secret is in it.
    private func replacement(forValueOf field: HTTPField) -> String? {
        let value = field.value
        if value.mayBeJSON, let redacted = redacted(inJSON: value) { return redacted }
        guard field.isURL || value.utf8.contains(where: { "/?#".utf8.contains($0) }) || mayHoldToken(value) else {
            return nil
        }
        let replaced = field.isURL ? applied(toURL: value) : applied(toText: value)
        return replaced == value ? nil : replaced
    }

    /// Replaces the secrets in the value of a field that holds one JSON value or several between commas; nil where there
    /// are none.
    func redacted(inJSON value: String) -> String? {
        guard looksIntoContent else { return nil }
        // An array is looked through, so the brackets change nothing but that commas may stand between values.
        let result = JSONRedactor(Array("[\(value)]".utf8), redaction: self).run()
        guard result.foundSecret || !result.isWhole else { return nil }
        // Of a text cut short, the end is replaced, and the last bracket with it.
        return String(decoding: result.bytes.dropFirst().dropLast(result.isWhole ? 1 : 0), as: UTF8.self)
    }

    /// Tells whether a field counts as secret: by its name, its mark, or by what is in its value.
    ///
    /// Of a value, JSON with a secret in it and a token count; URLs do not, since a server needs those that it knows.
    func isSecret(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        if isNamedSecret(field, secretFields: secretFields) { return true }
        if field.value.mayBeJSON, redacted(inJSON: field.value) != nil { return true }
        return mayHoldToken(field.value) && !TokenSearch.tokens(in: Array(field.value.utf8)).isEmpty
    }

    /// Tells whether the value of a field counts as secret by its name, or by its mark.
    ///
    /// A value that must not be indexed is one that HPACK calls sensitive (RFC 7541, section 7.1.3).
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - secretFields: The names that count as secret beside the listed ones, such as
    ///     ``RequestOptions/secretFields``.
    /// - Returns: Whether the whole value is secret.
    public func isNamedSecret(_ field: HTTPField, secretFields: Set<HTTPField.Name> = []) -> Bool {
        let isDeclared = declaredFields && (secretFields.contains(field.name) || field.indexingStrategy == .disallow)
        if isDeclared || fields.contains(field.name) { return true }
        return fieldNames.isSecret(field.value.utf8, ofField: field.name.canonicalName.utf8)
    }

    /// Whether a text may hold a token that is replaced by its shape.
    private func mayHoldToken(_ text: String) -> Bool {
        masksTokens && TokenSearch.mayHoldToken(text)
    }
}

extension HTTPField {
    /// Whether the value is a URL or a reference, and nothing else.
    var isURL: Bool { name == .location || name == .contentLocation || name == .referer }
}

extension String {
    /// Whether a URL, or a text with URLs, has any of the characters without which there is neither a user, nor an item, nor a coded value.
    var mayHoldSecret: Bool {
        !allUTF8 { byte in
            switch byte {
            case UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: "%"), UInt8(ascii: "{"): false
            default: true
            }
        }
    }

    /// Whether this starts as an object or an array of JSON does, and holds a name or a text.
    var mayBeJSON: Bool {
        utf8.contains(UInt8(ascii: "\"")) && JSONText.isLikely(utf8)
    }
}
