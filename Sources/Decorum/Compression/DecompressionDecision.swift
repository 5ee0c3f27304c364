import HTTPTypes

/// Decides about content codings by values alone.
enum DecompressionDecision {
    /// The `Accept-Encoding` to add to a request; nil where the caller has set one.
    ///
    /// A range counts the bytes of the coded content, of which a part cannot be decoded (RFC 9110, section 14).
    static func acceptEncoding(for request: borrowing HTTPRequest, offering codings: HTTPField) -> HTTPField? {
        guard !request.headerFields.has(.acceptEncoding) else { return nil }
        return request.headerFields.has(.range) ? HTTPField(name: .acceptEncoding, value: "identity") : codings
    }

    /// The value that offers codings, as far as this system can undo them.
    static func offer(_ codings: [ContentCoding], where isAvailable: (ContentCoding) -> Bool) -> String {
        let names = codings.filter(isAvailable).map(\.name)
        return names.isEmpty ? "identity" : names.joined(separator: ", ")
    }

    /// The codings of a response to undo, in the order in which they were applied; empty where it passes unchanged.
    ///
    /// It passes without content (RFC 9110, section 6.4.1), and where the content is a part of the coded whole.
    static func codings(of response: borrowing HTTPResponse, to method: HTTPRequest.Method) -> [ContentCoding] {
        // Most responses have no coding, which is found sooner than their status is read.
        guard response.headerFields.has(.contentEncoding), method != .head,
            ![204, 206, 304].contains(response.code)
        else { return [] }
        return ContentCoding.applied(to: response.headerFields)
    }

    /// Removes the fields that describe the coded bytes, which the reader no longer gets.
    ///
    /// The digests are those of coded bytes (RFC 9530, sections 2 and 3). Validators stay: they name the response that the
    /// server has, which conditional requests ask about.
    static func removeCodedFields(from head: inout HTTPResponse) {
        head.headerFields = withoutCodedFields(head.headerFields)
    }

    /// Header or trailer fields without those that describe the coded bytes.
    static func withoutCodedFields(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        for name in codedFields where fields.contains(name) { fields[fields: name] = [] }
        return fields
    }

    private static let codedFields =
        [.contentEncoding, .contentLength]
        + ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].compactMap { HTTPField.Name($0) }
}
