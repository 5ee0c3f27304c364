public import HTTPTypes

extension HTTPResponse {
    /// The number of bytes that the head announces for the content; nil where it announces none, or has a
    /// transfer coding (RFC 9112, section 6.3).
    ///
    /// It is the length of the content as it is transferred, so the response to a HEAD request, and a 304, have one
    /// without having content. Ask ``HTTPTypes/HTTPFields/isContentLengthAmbiguous`` first whether it can be relied upon.
    public var contentLength: Int64? {
        guard !headerFields.contains(.transferEncoding),
            let value = headerFields.first(where: { $0.name == .contentLength })?.value
        else { return nil }
        return Int64(value.prefix { $0 != "," })
    }
}

extension HTTPFields {
    /// Whether two recipients may disagree about where the content ends (RFC 9112, section 6.3).
    ///
    /// That is so where a length is not a number that fits into 64 bits, where there are two different lengths, and where
    /// there is a transfer coding beside a length. On a connection that is used again, the end of such a response and the
    /// start of the next one are unknown. A transport therefore fails the response with
    /// ``TransportError/Code/malformedResponse`` and closes its connection.
    public var isContentLengthAmbiguous: Bool {
        guard contains(.contentLength), let value = self[.contentLength] else { return false }
        guard !contains(.transferEncoding) else { return true }
        // One number, as nearly every response has.
        if Self.isDecimal(value[...]) { return Int64(value) == nil }
        let lengths = Set(
            value.split(separator: ",", omittingEmptySubsequences: false).map { part in
                let digits = part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                let rest = part[digits.endIndex...]
                return Self.isDecimal(digits) && rest.allSatisfy { $0 == " " || $0 == "\t" } ? Int64(digits) : nil
            })
        return lengths.count != 1 || lengths.contains(nil)
    }

    private static func isDecimal(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
