public import Foundation

extension Redaction {
    /// Replaces the secrets in content, by its media type.
    ///
    /// JSON is read strictly, as `application/json`, any type that ends in `+json`, and newline-delimited. From the
    /// first byte that is not JSON, or from where the content is cut short, the rest is replaced: what cannot be read is
    /// not shown. Forms are `application/x-www-form-urlencoded`. Content without a media type is taken as JSON
    /// where it is. Of a multipart body, the parts whose names are those of ``formNames`` are replaced, and all others
    /// are read by their own media types. XML and HTML are read for their elements and attributes.
    ///
    /// Text of every other type has no names that a redaction knows, so tokens alone are replaced in it, by their shape.
    /// Binary content is returned as it is, so whoever writes it down decides.
    ///
    /// - Parameters:
    ///   - content: The bytes, without a content coding.
    ///   - mediaType: The value of `Content-Type`; nil where there is none.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(to content: Data, mediaType: String?) -> Data {
        guard !content.isEmpty, readsContent else { return content }
        switch ContentKind(mediaType: mediaType) {
        case .multipart:
            return Self.replacingParts(of: content, mediaType: mediaType ?? "") { part in
                formNames.isSecret(Array(part.content)[...], of: part.name)
                    ? Data(placeholder.utf8) : applied(to: part.content, mediaType: part.mediaType)
            }
        case .markup:
            var secrets = SecretRanges(Array(content), redaction: self)
            secrets.findInMarkup()
            secrets.findTokens()
            return secrets.replaced().map { Data($0) } ?? content
        case .json:
            return Data(JSONRedactor(Array(content), redaction: self).run().bytes)
        case .form:
            var secrets = SecretRanges(Array(content), redaction: self)
            secrets.findInForm()
            secrets.findTokens()
            return secrets.replaced().map { Data($0) } ?? content
        case .unknown:
            guard JSONText.isLikely(content) else { return replacingTokens(in: content) }
            let result = JSONRedactor(Array(content), redaction: self).run()
            return result.foundSecret ? Data(result.bytes) : replacingTokens(in: content)
        case .text:
            return replacingTokens(in: content)
        case .binary:
            return content
        }
    }

    /// Whether there is anything that could be found in content.
    var readsContent: Bool {
        !jsonMatcher.isEmpty || !queryItems.isEmpty || !formNames.isEmpty || userinfo || masksTokens
    }

    private func replacingTokens(in content: Data) -> Data {
        var secrets = SecretRanges(Array(content), redaction: self)
        secrets.findTokens()
        return secrets.replaced().map { Data($0) } ?? content
    }
}

/// What the media type of content says about how to read it.
enum ContentKind: Sendable {
    case json
    case form
    case multipart
    /// XML or HTML.
    case markup
    /// Text of another kind, which has no names to go by.
    case text
    case binary
    /// There is no media type.
    case unknown

    /// Tells whether content can be read byte by byte, as ASCII with whatever else in between.
    ///
    /// What a media type calls text often is in an older encoding, and one byte of that must not hide all secrets.
    func isReadable(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .json, .form, .markup, .text: !UTF8Text.isWide(bytes)
        case .binary, .unknown, .multipart: UTF8Text.isValid(bytes) || !UTF8Text.holdsControls(bytes)
        }
    }

    init(mediaType: String?) {
        guard let mediaType else {
            self = .unknown
            return
        }
        let essence = mediaType.prefix { $0 != ";" && $0 != "," }.filter { !$0.isWhitespace }.lowercased()
        if essence.hasSuffix("json") || essence.hasPrefix("application/x-amz-json") || essence.hasSuffix("jsonl")
            || essence.hasSuffix("/json-seq") || essence == "application/csp-report"
        {
            self = .json
        } else if essence == "application/x-www-form-urlencoded" {
            self = .form
        } else if essence.hasPrefix("multipart/") {
            self = .multipart
        } else if essence.hasSuffix("xml") || essence == "text/html" {
            self = .markup
        } else if essence.hasPrefix("text/") || essence == "application/javascript" {
            self = .text
        } else {
            self = .binary
        }
    }
}
