public import Decorum

extension Query {
    /// Reads a query or the content of a form, as browsers and servers read it (URL Standard, section 5.1).
    ///
    /// A `+` is a blank, an incomplete escape stays as it is, and bytes that are not UTF-8 become U+FFFD. Empty items are left
    /// out.
    ///
    /// - Parameters:
    ///   - text: The text, without a question mark.
    ///   - limit: The largest number of items to accept.
    /// - Throws: `InvalidRequestError` when there are more items.
    public init(parsing text: String, upTo limit: Int = 10_000) throws(InvalidRequestError) {
        items = []
        for part in Array(text.utf8).split(separator: UInt8(ascii: "&")) {
            guard items.count < limit else {
                throw InvalidRequestError(.invalidParameter, "The query has more than \(limit) items.")
            }
            let equalsSign = part.firstIndex(of: UInt8(ascii: "="))
            let name = Self.decoded(part[..<(equalsSign ?? part.endIndex)])
            items.append(Item(name, equalsSign.map { Self.decoded(part[$0...].dropFirst()) }))
        }
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: PercentCoding.decode(bytes), as: UTF8.self)
    }
}
