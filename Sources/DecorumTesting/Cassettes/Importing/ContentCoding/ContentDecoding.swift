import Decorum
import Foundation
import HTTPTypes

extension ImportedCassette {
    /// Undoes the content codings of the responses, and drops the fields that no longer describe the content.
    ///
    /// Recorders often store decoded content under a `Content-Encoding` that says otherwise, so that field is believed
    /// only where the content begins as that coding does, or is no text in a coding that has no such beginning and in a
    /// format that keeps coded content. gzip and deflate are undone; content in another coding stays as it is, with its
    /// field. What formats that keep decoded content have for a response that can have none is dropped.
    ///
    /// - Returns: The same exchanges, as a client sees them behind its transport.
    public func decodingContent() -> Self {
        var copy = self
        for index in interactions.indices {
            guard var response = interactions[index].response else { continue }
            let method = interactions[index].request.method
            // Browsers write what their cache has for the 304 that let them use it.
            if hasDecodedContent, !response.body.bytes.isEmpty,
                !RecordedResponse.mayHaveContent(response.status, to: method)
            {
                response.body = RecordedBody()
                let message = "Content was left out, as a response to \(method) with \(response.status) has none."
                copy.warnings.append(
                    ImportWarning(kind: .leftOut, place: "interaction \(index + 1)", message: message))
            }
            if let message = response.decodeContent(of: method, mayBeCoded: !hasDecodedContent) {
                let place = "interaction \(index + 1)"
                copy.warnings.append(ImportWarning(kind: .contentCoding, place: place, message: message))
            }
            copy.interactions[index].response = response
        }
        return copy
    }
}

extension RecordedResponse {
    /// Whether a response can have content at all (RFC 9110, section 6.4.1).
    static func mayHaveContent(_ status: Int, to method: String) -> Bool {
        method != "HEAD" && status >= 200 && status != 204 && status != 304
    }

    /// Undoes the content coding; returns what is to be said about it.
    ///
    /// Content that should be decoded already has a coding only where it begins as that coding does.
    mutating func decodeContent(of method: String, mayBeCoded: Bool = true) -> String? {
        fields[.transferEncoding] = nil
        // Without content, these fields tell what another request would get.
        guard method != "HEAD", status != 304, let value = fields[.contentEncoding] else { return nil }
        let codings = value.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
        // Identity is no coding, and names none (RFC 9110, section 8.4.1).
        if body.bytes.isEmpty || codings.allSatisfy({ $0 == "identity" }) {
            fields[.contentEncoding] = nil
            return nil
        }
        var message: String?
        var bytes = Array(body.bytes)
        for coding in codings.reversed() where coding != "identity" {
            let isMagic = ContentCoding.isMagic(Data(bytes.prefix(4)), of: coding)
            let decoded =
                isMagic == true || mayBeCoded
                ? ContentCoding.decode(bytes, coding, limit: ImportedCassette.sizeLimit) : nil
            switch decoded {
            case let decoded?: bytes = decoded
            case nil where Self.isCoded(bytes, coding, isMagic: isMagic, mayBeCoded: mayBeCoded):
                return "The content cannot be decoded from \(coding), and was left as it is."
            case nil:
                message = "The content is not in the coding \(coding) that its field names; it had been decoded before."
            }
        }
        coding = codings.joined(separator: ", ")
        fields[.contentEncoding] = nil
        body.bytes = Data(bytes)
        if fields.contains(.contentLength) { fields[.contentLength] = String(bytes.count) }
        return message
    }

    /// Tells whether bytes that could not be decoded are in the coding all the same; text is not.
    private static func isCoded(_ bytes: [UInt8], _ coding: String, isMagic: Bool?, mayBeCoded: Bool) -> Bool {
        if let isMagic, coding != "deflate" { return isMagic }
        // The beginning of a zlib stream may be two letters as well, and what is within it has none at all.
        return (mayBeCoded || isMagic == true) && String(validating: bytes, as: UTF8.self) == nil
    }
}
