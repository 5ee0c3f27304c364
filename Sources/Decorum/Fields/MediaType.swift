/// The kind of content, by its media type.
package enum ContentKind: Sendable, Hashable {
    /// JSON, as one document, as lines, or as a sequence.
    case json
    /// A form in `application/x-www-form-urlencoded`.
    case form
    /// Several parts, as in `multipart/form-data`.
    case multipart
    /// XML or HTML.
    case markup
    /// Text of another kind, in which values have no names.
    case text
    /// Bytes that are not text.
    case binary
    /// The kind is not known, since there is no media type.
    case unknown

    /// Creates the kind of a media type.
    ///
    /// - Parameter mediaType: The value of `Content-Type`; nil when absent.
    package init(mediaType: String?) {
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

extension String {
    /// A media type without its parameters and in lower case, as in `text/html` of `Text/HTML; charset=utf-8`.
    package var mediaTypeEssence: String {
        prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    }
}
