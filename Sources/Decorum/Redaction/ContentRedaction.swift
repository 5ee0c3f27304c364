public import Foundation

extension Redaction {
    /// Replaces the secrets in JSON: values under listed names, and secrets in the URLs, JSON and tokens of other
    /// strings.
    ///
    /// The grammar is checked strictly (RFC 8259). Everything after the first byte that is not JSON, or after an early
    /// end of the content, is replaced, since it cannot be parsed. JSON lines and JSON text sequences are accepted too.
    ///
    /// - Parameter content: The bytes, without a content coding.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(toJSON content: Data) -> Data {
        guard !content.isEmpty, looksIntoContent else { return content }
        return Data(JSONRedactor(Array(content), redaction: self).run().bytes)
    }

    /// Replaces the secrets in a form (`application/x-www-form-urlencoded`).
    ///
    /// - Parameter content: The bytes, without a content coding.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(toForm content: Data) -> Data {
        guard !content.isEmpty, looksIntoContent else { return content }
        var search = SecretSearch(Array(content), redaction: self)
        search.findInForm()
        search.findTokens()
        return search.replaced().map { Data($0) } ?? content
    }

    /// Replaces the secrets in content without a media type: as in JSON when it is JSON with a secret, otherwise as
    /// in plain text.
    ///
    /// - Parameter content: The bytes, without a content coding.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(toUnlabeled content: Data) -> Data {
        guard !content.isEmpty, looksIntoContent else { return content }
        guard JSONText.isLikely(content) else { return applied(toPlainText: content) }
        let result = JSONRedactor(Array(content), redaction: self).run()
        return result.foundSecret ? Data(result.bytes) : applied(toPlainText: content)
    }

    /// Replaces the secrets in text that is not JSON, a form or markup: values of secret names in its lines, as in
    /// `password: …`, secrets in its URLs, and tokens, found by their shape.
    ///
    /// - Parameter content: The bytes, without a content coding.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(toPlainText content: Data) -> Data {
        guard !content.isEmpty, looksIntoContent else { return content }
        var search = SecretSearch(Array(content), redaction: self)
        search.findInLinks()
        search.findAssignments()
        search.findTokens()
        return search.replaced().map { Data($0) } ?? content
    }

    /// Whether anything could be replaced in content.
    public var looksIntoContent: Bool {
        !jsonMatcher.isEmpty || !queryItems.isEmpty || !formNames.isEmpty || userinfo || masksTokens || secretPaths
    }
}
