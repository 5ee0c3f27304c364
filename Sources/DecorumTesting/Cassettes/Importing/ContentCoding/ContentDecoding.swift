import Decorum
import Foundation
import HTTPTypes

extension ImportedCassette {
    /// Undoes the content codings of the responses, and drops the fields that no longer describe the content.
    ///
    /// Recorders often store decoded content under a `Content-Encoding` that says otherwise, so that field is believed
    /// only where the content begins as that coding does. gzip and deflate are undone; content in another coding stays
    /// as it is, with its field.
    ///
    /// - Returns: The same exchanges, as a client sees them behind its transport.
    public func decodingContent() -> Self {
        var copy = self
        for index in interactions.indices {
            guard var response = interactions[index].response else { continue }
            if let message = response.decodeContent(of: interactions[index].request.method) {
                let place = "interaction \(index + 1)"
                copy.warnings.append(ImportWarning(kind: .contentCoding, place: place, message: message))
            }
            copy.interactions[index].response = response
        }
        return copy
    }
}

extension RecordedResponse {
    /// Undoes the content coding; returns what is to be said about it.
    mutating func decodeContent(of method: String) -> String? {
        fields[.transferEncoding] = nil
        // Without content, these fields tell what another request would get.
        guard method != "HEAD", status != 304, let value = fields[.contentEncoding] else { return nil }
        let codings = value.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
        guard codings.contains(where: { $0 != "identity" }) else { return nil }
        if body.bytes.isEmpty {
            fields[.contentEncoding] = nil
            return nil
        }
        var message: String?
        var bytes = Array(body.bytes)
        for coding in codings.reversed() where coding != "identity" {
            switch ContentCoding.decode(bytes, coding, limit: ImportedCassette.sizeLimit) {
            case let decoded?: bytes = decoded
            case nil where Self.isCoded(bytes, coding):
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
    private static func isCoded(_ bytes: [UInt8], _ coding: String) -> Bool {
        if coding == "deflate" { return String(validating: bytes, as: UTF8.self) == nil }
        return ContentCoding.isMagic(Data(bytes.prefix(4)), of: coding)
            ?? (String(validating: bytes, as: UTF8.self) == nil)
    }
}
