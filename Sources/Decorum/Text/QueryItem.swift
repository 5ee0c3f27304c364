/// An item of a query or of a form, decoded, as signers write it anew in the form that their scheme demands.
public struct QueryItem: Sendable, Hashable {
    // A signature covers bytes, which need not be UTF-8.
    private let nameBytes: [UInt8]
    private let valueBytes: [UInt8]

    /// The name; bytes that are not UTF-8 are U+FFFD in it.
    public var name: String { String(decoding: nameBytes, as: UTF8.self) }
    /// The value, as the name; empty for an item without one.
    public var value: String { String(decoding: valueBytes, as: UTF8.self) }

    /// Creates an item.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    public init(_ name: String, _ value: String) {
        (nameBytes, valueBytes) = (Array(name.utf8), Array(value.utf8))
    }

    /// Reads the items of a query or of a form, in their order.
    ///
    /// An item without a `=` has an empty value, and an empty item is left out.
    ///
    /// - Parameters:
    ///   - text: The items, as they are written: what stands behind the `?` of a URL, or the content of a form.
    ///   - plusIsBlank: Whether a `+` stands for a blank, as in a form (URL Standard, section 5.1).
    /// - Returns: The items, decoded.
    public static func items(of text: some StringProtocol, plusIsBlank: Bool) -> [QueryItem] {
        Array(text.utf8).split(separator: UInt8(ascii: "&")).map { item in
            let mark = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            return QueryItem(
                nameBytes: PercentCoding.decode(item[..<mark], plusIsBlank: plusIsBlank),
                valueBytes: PercentCoding.decode(item[mark...].dropFirst(), plusIsBlank: plusIsBlank))
        }
    }

    private init(nameBytes: [UInt8], valueBytes: [UInt8]) {
        (self.nameBytes, self.valueBytes) = (nameBytes, valueBytes)
    }

    /// The item in a query, encoded.
    var text: String {
        String(decoding: PercentCoding.encode(nameBytes) + "=".utf8 + PercentCoding.encode(valueBytes), as: UTF8.self)
    }

    /// Writes items as most schemes sign them: all but the unreserved characters encoded, and sorted by name and value.
    ///
    /// - Parameter items: The items.
    /// - Returns: The items as `name=value`, joined by `&`; the order is the one of the encoded bytes.
    public static func canonicalText(of items: [QueryItem]) -> String {
        // With a zero between a name and its value, the order of the bytes is that of the names, and then that of the values.
        let texts = items.map { PercentEscapes.encode($0.nameBytes) + [0] + PercentEscapes.encode($0.valueBytes) }
        let sorted = texts.sorted { $0.lexicographicallyPrecedes($1) }
        let bytes = Array(sorted.joined(separator: [UInt8(ascii: "&")]))
        return String(decoding: bytes.map { $0 == 0 ? UInt8(ascii: "=") : $0 }, as: UTF8.self)
    }
}

extension String {
    /// The path of a request with the items that its query lacks, as they are written.
    func adding(defaults items: [(name: String, text: String)]) -> String {
        guard self != "*", !items.isEmpty else { return self }
        let mark = firstIndex(of: "?")
        let query = mark.map { self[index(after: $0)...] } ?? ""
        let names = Set(QueryItem.items(of: query, plusIsBlank: false).map(\.name))
        let added = items.filter { !names.contains($0.name) }.map(\.text)
        guard !added.isEmpty else { return self }
        let separator = mark == nil ? "?" : query.isEmpty || query.last == "&" ? "" : "&"
        return self + separator + added.joined(separator: "&")
    }
}
