public import Decorum
public import Foundation

extension Redaction {
    /// Replaces the secrets in content, by its media type.
    ///
    /// - JSON is `application/json`, any type that ends in `json`, and newline-delimited JSON: see
    ///   `Redaction.applied(toJSON:)`. Content without a media type is treated as JSON if it is JSON with a
    ///   secret.
    /// - Forms are `application/x-www-form-urlencoded`: see `Redaction.applied(toForm:)`.
    /// - In a multipart body (RFC 2046), parts whose names are among `Redaction.formNames` are replaced as a
    ///   whole, and all other parts are searched by their media types.
    /// - XML and HTML are searched for the names of elements and attributes.
    /// - In a table (`text/csv`, RFC 4180, and tab-separated values), the columns whose headings are secret names are
    ///   replaced, and tokens.
    /// - Other text is searched for assignments, URLs and tokens: see `Redaction.applied(toPlainText:)`.
    /// - Binary content is returned unchanged, so the caller decides whether to write it.
    ///
    /// - Parameters:
    ///   - content: The bytes, without a content coding.
    ///   - mediaType: The value of `Content-Type`; nil when absent.
    /// - Returns: The content; bytes that are not part of a secret are the same.
    public func applied(to content: Data, mediaType: String?) -> Data {
        guard !content.isEmpty, looksIntoContent else { return content }
        switch ContentKind(mediaType: mediaType) {
        case .multipart:
            return MultipartPart.replacing(in: content, mediaType: mediaType ?? "") { part in
                formNames.isSecret(part.content, of: part.name)
                    ? Data(placeholder.utf8) : applied(to: part.content, mediaType: part.mediaType)
            }
        case .markup:
            var search = SecretSearch(Array(content), redaction: self)
            search.add(MarkupSecrets.all(in: search.bytes, names: jsonNames))
            search.findTokens()
            let placeholder = placeholder.utf8.filter { !"<&\"'".utf8.contains($0) }
            return search.replacing { _ in placeholder }.map { Data($0) } ?? content
        case .json:
            return applied(toJSON: content)
        case .form:
            return applied(toForm: content)
        case .unknown:
            return applied(toUnlabeled: content)
        case .text:
            guard let delimiter = TableSecrets.delimiter(ofMediaType: mediaType) else {
                return applied(toPlainText: content)
            }
            var search = SecretSearch(Array(content), redaction: self)
            search.add(TableSecrets.all(in: search.bytes, delimiter: delimiter, names: jsonNames))
            search.findTokens()
            let placeholder = Array(placeholder.utf8.filter { $0 != delimiter && $0 != UInt8(ascii: "\"") })
            return search.replacing { _ in placeholder }.map { Data($0) } ?? content
        case .binary:
            return content
        }
    }
}
