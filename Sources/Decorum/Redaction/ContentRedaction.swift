public import Foundation

extension Redaction {
    /// Replaces the secrets in JSON: values under listed names, and the URLs, the JSON and the tokens in other strings.
    ///
    /// The grammar is read strictly (RFC 8259). From the first byte that is not JSON, or from where the content is cut short,
    /// the rest is replaced, since it cannot be read. Lines of JSON and JSON text sequences are read too.
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

    /// Replaces the secrets in content without a media type: as in JSON where it is JSON with a secret, else its tokens.
    ///
    /// - Parameter content: The bytes, without a content coding.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(toUnlabeled content: Data) -> Data {
        guard !content.isEmpty, looksIntoContent else { return content }
        guard JSONText.isLikely(content) else { return replacingTokens(in: content) }
        let result = JSONRedactor(Array(content), redaction: self).run()
        return result.foundSecret ? Data(result.bytes) : replacingTokens(in: content)
    }

    /// Replaces tokens by their shape, and nothing else: see ``masksTokens``.
    ///
    /// - Parameter content: The bytes, without a content coding.
    /// - Returns: The content; bytes that are not part of a token are the same.
    public func replacingTokens(in content: Data) -> Data {
        var search = SecretSearch(Array(content), redaction: self)
        search.findTokens()
        return search.replaced().map { Data($0) } ?? content
    }

    /// Whether anything could be replaced in content.
    public var looksIntoContent: Bool {
        !jsonMatcher.isEmpty || !queryItems.isEmpty || !formNames.isEmpty || userinfo || masksTokens
    }
}
