import Decorum
import Foundation
import HTTPTypes

extension RecordedResponse {
    /// Whether a response can have content at all (RFC 9110, section 6.4.1).
    static func mayHaveContent(_ status: Int, to method: String) -> Bool {
        method != "HEAD" && status >= 200 && status != 204 && status != 304
    }

    /// Undoes the content coding within the standard limits; returns the text of a warning, if any.
    mutating func decodeContent(of method: String) -> String? {
        var budget = ImportBudget()
        do throws(ImportFault) {
            return try decodeContent(of: method, within: &budget)
        } catch {
            return "The content is too long to be decoded, and was left as it is."
        }
    }

    /// Undoes the content coding; returns the text of a warning, if any.
    ///
    /// If `mayBeCoded` is false, only content that begins with the coding's magic number is decoded.
    ///
    /// - Throws: `ImportFault` if the budget is spent.
    mutating func decodeContent(
        of method: String, mayBeCoded: Bool = true, within budget: inout ImportBudget
    ) throws(ImportFault) -> String? {
        fields[.transferEncoding] = nil
        // Without content, these fields describe the answer to another request.
        guard method != "HEAD", status != 304, let value = fields[.contentEncoding] else { return nil }
        let codings = value.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
        // `identity` names no coding (RFC 9110, section 8.4.1).
        if body.bytes.isEmpty || codings.allSatisfy({ $0 == "identity" }) {
            fields[.contentEncoding] = nil
            return nil
        }
        var message: String?
        var bytes = body.bytes
        for coding in codings.reversed() where coding != "identity" {
            let isMagic = StoredCoding.isMagic(bytes, of: coding)
            let mayDecode = isMagic == true || mayBeCoded
            let decoded = mayDecode ? try StoredCoding.decode(bytes, coding, within: &budget) : nil
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
        body.bytes = bytes
        if fields.contains(.contentLength) { fields[.contentLength] = String(bytes.count) }
        return message
    }

    /// Whether bytes that could not be decoded are in the coding all the same; text is not.
    private static func isCoded(_ bytes: Data, _ coding: String, isMagic: Bool?, mayBeCoded: Bool) -> Bool {
        if let isMagic, coding != "deflate" { return isMagic }
        // The header of a zlib stream may look like two letters, and the raw data within it has no header.
        return (mayBeCoded || isMagic == true) && String(validating: bytes, as: UTF8.self) == nil
    }
}
