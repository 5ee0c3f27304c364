public import HTTPTypes

extension Redaction {
    /// Replaces the secrets in header or trailer fields.
    ///
    /// The whole value of a listed field is replaced, and so is each of several fields of one name. In all others,
    /// URLs lose their user name and password and the values of listed query items.
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
    /// - Returns: The URL with its user name, its password and the values of listed items replaced.
    public func applied(toURL url: String) -> String {
        guard url.mayHoldSecret else { return url }
        var secrets = SecretRanges(Array(url.utf8), redaction: self)
        secrets.findInURL()
        return secrets.replaced().map { String(decoding: $0, as: UTF8.self) } ?? url
    }

    /// Replaces the secrets in the authority of a URL.
    func applied(toAuthority authority: String) -> String {
        guard authority.mayHoldSecret else { return authority }
        // An authority is the part of a URL behind the two slashes.
        return String(applied(toURL: "//" + authority).dropFirst(2))
    }

    /// Replaces the secrets of the URLs in a text.
    func applied(toText text: String) -> String {
        var secrets = SecretRanges(Array(text.utf8), redaction: self)
        secrets.findInText()
        return secrets.replaced().map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func replacement(for field: HTTPField, secretFields: Set<HTTPField.Name>) -> String? {
        if isSecret(field, secretFields: secretFields) { return placeholder }

        let value = field.value
        let isURL = field.isURL
        guard isURL || value.utf8.contains(where: { "/?#".utf8.contains($0) }) else { return nil }
        let replaced = isURL ? applied(toURL: value) : applied(toText: value)
        return replaced == value ? nil : replaced
    }

    /// Tells whether the value of a field counts as secret by its name, or by its mark.
    ///
    /// A value that must not be indexed is one that HPACK calls sensitive (RFC 7541, section 7.1.3).
    func isSecret(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        let isDeclared = declaredFields && (secretFields.contains(field.name) || field.indexingStrategy == .disallow)
        if isDeclared || fields.contains(field.name) { return true }
        return fieldNames.isSecret(field.value.utf8, of: field.name.canonicalName.utf8)
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
}
