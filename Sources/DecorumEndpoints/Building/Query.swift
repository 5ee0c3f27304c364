/// The names and values of a query or of a form, in their order.
///
/// ```swift
/// var query: Query = ["q": "a b&c", "page": 2, "cursor": cursor]
/// query.append("tag", "new")
/// query.append("tag", "sale")
/// print(query.text)  // q=a+b%26c&page=2&tag=new&tag=sale, where `cursor` is nil
/// ```
///
/// A name may occur several times. Names and values are encoded as browsers encode a form (URL Standard, section 5.2): a
/// blank as `+`, and all other bytes of UTF-8 but ASCII letters, ASCII digits and `*-._` as `%` and two digits.
public struct Query: Sendable, Hashable {
    /// One name with its value.
    public struct Item: Sendable, Hashable {
        /// The name, not encoded.
        public var name: String
        /// The value, not encoded; nil for a name without an equals sign.
        public var value: String?

        /// Creates an item.
        ///
        /// - Parameters:
        ///   - name: The name, not encoded.
        ///   - value: The value, not encoded; nil for a name without an equals sign.
        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The items, in the order in which they are sent.
    public var items: [Item]

    /// Creates a query from items.
    ///
    /// - Parameter items: The items, in the order in which they are sent.
    public init(_ items: [Item] = []) {
        self.items = items
    }

    /// Whether there are no items.
    public var isEmpty: Bool { items.isEmpty }

    /// Adds an item behind the others.
    ///
    /// - Parameters:
    ///   - name: The name, not encoded.
    ///   - value: The value; nothing is added where it is nil.
    public mutating func append(_ name: String, _ value: (any ParameterValue)?) {
        if let value { items.append(Item(name, value.parameterText)) }
    }

    /// The values of a name, in their order; setting them replaces those that are there.
    ///
    /// - Parameter name: The name, not encoded.
    public subscript(_ name: String) -> [String] {
        get { items.filter { $0.name == name }.map { $0.value ?? "" } }
        set {
            items.removeAll { $0.name == name }
            items += newValue.map { Item(name, $0) }
        }
    }

    /// The query as it is sent, without a question mark.
    public var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func append(to bytes: inout [UInt8]) {
        var isFirst = true
        for item in items {
            if !isFirst { bytes.append(UInt8(ascii: "&")) }
            isFirst = false
            PercentBytes.appendForm(item.name, to: &bytes)
            guard let value = item.value else { continue }
            bytes.append(UInt8(ascii: "="))
            PercentBytes.appendForm(value, to: &bytes)
        }
    }
}

extension Query: ExpressibleByDictionaryLiteral {
    /// Creates a query from a literal.
    ///
    /// - Parameter elements: The names and values; a pair whose value is nil is left out.
    public init(dictionaryLiteral elements: (String, (any ParameterValue)?)...) {
        items = []
        items.reserveCapacity(elements.count)
        for (name, value) in elements { append(name, value) }
    }
}

extension Query: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names in their order, as in `q=…&page=…`; never a value, which is in ``text``.
    public var description: String { items.map(\.description).joined(separator: "&") }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the values may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Query.Item: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name as it is sent, without the value; an ellipsis for a name alone, which may be secret as a value is.
    public var description: String {
        guard value != nil else { return "…" }
        var bytes: [UInt8] = []
        PercentBytes.appendForm(name, to: &bytes)
        return String(decoding: bytes, as: UTF8.self) + "=…"
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the value may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
