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
    ///   - secretFields: The names that count as secret in addition to the listed ones, such as
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
    ///   - secretFields: The names that count as secret in addition to the listed ones, such as
    ///     ``RequestOptions/secretFields``.
    /// - Returns: The head with the values replaced.
    public func applied(to head: HTTPRequest, secretFields: Set<HTTPField.Name> = []) -> HTTPRequest {
        var head = head
        head.headerFields = applied(to: head.headerFields, secretFields: secretFields)
        let authority = head.authority
        head.path = head.path.map { applied(toPath: $0, of: authority) }
        head.authority = head.authority.map(applied(toAuthority:))
        return head
    }

    /// Replaces the secrets in the fields of a response.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - secretFields: The names that count as secret in addition to the listed ones, such as
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
        guard mayHoldSecret(inURL: url) || mayHoldToken(url) else { return url }
        var secrets = SecretSearch(Array(url.utf8), redaction: self)
        secrets.findInURL()
        secrets.findTokens()
        return secrets.replaced().map { String(decoding: $0, as: UTF8.self) } ?? url
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
        guard authority.mayHoldSecret || mayHoldToken(authority) else { return authority }
        // In a URL, the authority follows the two slashes.
        return String(applied(toURL: "//" + authority).dropFirst(2))
    }

    /// Replaces the secrets in the URLs of a text, and tokens.
    ///
    /// - Parameter text: The text, such as a sentence for a log.
    /// - Returns: The text with the secrets replaced.
    public func applied(toText text: String) -> String {
        guard text.hasMarkOfSecret(named: jsonNames) || mayHoldToken(text) else { return text }
        var secrets = SecretSearch(Array(text.utf8), redaction: self)
        secrets.findInText()
        secrets.findAssignments()
        secrets.findTokens()
        return secrets.replaced().map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Returns the redaction with further names of query items, such as ``RequestOptions/secretQueryItems``.
    ///
    /// - Parameter queryItems: The names of the items whose values are replaced in addition.
    /// - Returns: The redaction; the same one where there are no names, or where it replaces nothing that a request
    ///   declares.
    public func covering(queryItems: Set<String>) -> Redaction {
        guard !queryItems.isEmpty, declaredFields else { return self }
        var redaction = self
        for name in queryItems { redaction.queryItems.insert(name) }
        return redaction
    }

    private func replacement(for field: HTTPField, secretFields: Set<HTTPField.Name>) -> String? {
        isNamedSecret(field, secretFields: secretFields) ? placeholder : replacement(forValueOf: field)
    }

    /// The redacted value of a field whose name is not listed; nil when it holds no secret.
    private func replacement(forValueOf field: HTTPField) -> String? {
        let value = field.value
        if value.mayBeJSON, let redacted = redacted(inJSON: value) { return redacted }
        guard
            field.isURL || value.utf8.contains(where: { "/?#".utf8.contains($0) }) || mayHoldToken(value)
                || Assignments.mayHoldSecret(value, names: jsonNames)
        else {
            return nil
        }
        let replaced = field.isURL ? applied(toURL: value) : applied(toText: value)
        return replaced == value ? nil : replaced
    }

    /// Replaces the secrets in the value of a field that holds one JSON value or several between commas; nil when it
    /// holds no secret.
    func redacted(inJSON value: String) -> String? {
        guard looksIntoContent else { return nil }
        // Patterns look through arrays, so the only effect of the brackets is that commas may separate values.
        let result = JSONRedactor(Array("[\(value)]".utf8), redaction: self).run()
        guard result.foundSecret || !result.isWhole else { return nil }
        // When the text is incomplete, its end was replaced together with the last bracket.
        return String(decoding: result.bytes.dropFirst().dropLast(result.isWhole ? 1 : 0), as: UTF8.self)
    }

    /// Returns whether a field counts as secret: by its name, its indexing strategy, or its value.
    ///
    /// A value counts as secret if it is JSON with a secret or holds a token. URLs do not count, since a server needs
    /// the URLs that it knows.
    func isSecret(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        isNamedSecret(field, secretFields: secretFields) || isSecret(valueOf: field)
    }

    /// Returns whether the value of a field is a secret by itself, under a name that is not listed.
    func isSecret(valueOf field: HTTPField) -> Bool {
        isSecret(value: field.value)
    }

    func isSecret(value: String) -> Bool {
        guard !PlainText.holds(value) else { return false }
        if value.mayBeJSON, redacted(inJSON: value) != nil { return true }
        return mayHoldToken(value) && !TokenSearch.tokens(in: Array(value.utf8)).isEmpty
    }

    /// Returns whether the value of a field counts as secret by its name or its indexing strategy.
    ///
    /// A value that must not be indexed is sensitive by HPACK (RFC 7541, section 7.1.3).
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - secretFields: The names that count as secret in addition to the listed ones, such as
    ///     ``RequestOptions/secretFields``.
    /// - Returns: Whether the whole value is secret.
    public func isNamedSecret(_ field: HTTPField, secretFields: Set<HTTPField.Name> = []) -> Bool {
        let isDeclared = declaredFields && (secretFields.contains(field.name) || field.indexingStrategy == .disallow)
        if isDeclared || fields.contains(field.name) { return true }
        return fieldNames.isSecret(field.value.utf8, ofField: field.name.canonicalName.utf8)
    }

    /// Returns whether a URL needs a search for secrets, apart from tokens: most do not.
    ///
    /// - Parameter url: The URL, a reference, or a path with its query.
    /// - Returns: Whether it has a character or a part that all such secrets have.
    public func mayHoldSecret(inURL url: String) -> Bool {
        url.mayHoldSecret || secretPaths && SecretPath.mayHoldSecret(url)
    }

    /// Whether a text may hold a token that would be replaced.
    private func mayHoldToken(_ text: String) -> Bool {
        masksTokens && TokenSearch.mayHoldToken(text)
    }
}

extension HTTPField {
    /// Whether the whole value is a URL or a reference.
    var isURL: Bool { name == .location || name == .contentLocation || name == .referer }
}

extension String {
    /// Whether a URL, or a text with URLs, has one of the characters that every user name, item and encoded value
    /// needs.
    var mayHoldSecret: Bool {
        !allUTF8 { byte in
            switch byte {
            case UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: "%"), UInt8(ascii: "{"): false
            default: true
            }
        }
    }

    /// Whether a text has a mark without which it holds neither a part of a URL nor an assignment to a secret name: most
    /// have none.
    fileprivate func hasMarkOfSecret(named names: SecretNames) -> Bool {
        var text = self
        return text.withUTF8 { bytes in
            // The last two bytes of what may be a name, which blanks and quotation marks may follow.
            var (before, last) = (0 as UInt8, 0 as UInt8)
            for index in bytes.indices {
                let byte = unsafe bytes[index]
                switch byte {
                case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
                case UInt8(ascii: "="), UInt8(ascii: ":"):
                    if !names.isEmpty, names.mayEnd(in: before, last) { return true }
                case 0x20, 0x09, UInt8(ascii: "\""), UInt8(ascii: "'"): break
                default: (before, last) = (last, byte)
                }
            }
            return false
        }
    }

    /// Whether this starts like a JSON object or array, and holds a string.
    var mayBeJSON: Bool {
        !allUTF8 { $0 != UInt8(ascii: "\"") } && JSONText.isLikely(utf8)
    }
}
