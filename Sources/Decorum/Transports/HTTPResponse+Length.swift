import HTTPTypes

extension HTTPResponse {
    /// The length of the content as it goes over the wire; nil where the head does not tell.
    var contentLength: Int64? {
        guard !headerFields.contains(.transferEncoding),
            let value = headerFields.first(where: { $0.name == .contentLength })?.value
        else { return nil }
        return Int64(value.prefix { $0 != "," })
    }

    /// Whether two recipients may disagree about where the content ends (RFC 9112, section 6.3).
    ///
    /// That is so where a length is no number or no number that fits, where there are two lengths, and where there is a
    /// transfer coding beside a length.
    /// On a connection that is used again, neither the end of such a response is known nor the start of the next one.
    static func contradictsItself(_ fields: HTTPFields) -> Bool {
        guard fields.contains(.contentLength), let value = fields[.contentLength] else { return false }
        guard !fields.contains(.transferEncoding) else { return true }
        // One number, as nearly every response has.
        if isDecimal(value[...]) { return Int64(value) == nil }
        let lengths = Set(
            value.split(separator: ",", omittingEmptySubsequences: false).map { part in
                let digits = part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                let rest = part[digits.endIndex...]
                return isDecimal(digits) && rest.allSatisfy { $0 == " " || $0 == "\t" } ? Int64(digits) : nil
            })
        return lengths.count != 1 || lengths.contains(nil)
    }

    private static func isDecimal(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
