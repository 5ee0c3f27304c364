public import Decorum
public import Foundation

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

        /// Creates an item; each parameter is the property of its name.
        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The items, in the order in which they are sent.
    public var items: [Item]

    /// Creates a query from items.
    public init(_ items: [Item] = []) {
        self.items = items
    }

    /// Whether there are no items.
    public var isEmpty: Bool { items.isEmpty }

    /// Adds an item behind the others, unless its value is nil.
    public mutating func append(_ name: String, _ value: (any ParameterValue)?) {
        if let value { items.append(Item(name, value.parameterText)) }
    }

    /// The values of a name, in their order; setting them replaces the present ones.
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
    /// Creates a query from a literal; a pair whose value is nil is left out.
    public init(dictionaryLiteral elements: (String, (any ParameterValue)?)...) {
        items = []
        items.reserveCapacity(elements.count)
        for (name, value) in elements { append(name, value) }
    }
}

extension Query: SecretHolder {
    /// The names in their order, as in `q=…&page=…`; never a value, which is in ``text``.
    public var description: String { items.map(\.description).joined(separator: "&") }
}

extension Query.Item: SecretHolder {
    /// The name as it is sent, without the value; an ellipsis for a name alone, which may be secret as a value is.
    public var description: String {
        guard value != nil else { return "…" }
        var bytes: [UInt8] = []
        PercentBytes.appendForm(name, to: &bytes)
        return String(decoding: bytes, as: UTF8.self) + "=…"
    }
}

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

extension Query {
    /// Creates a query from the members of a value, in the order in which it encodes them.
    ///
    /// ```swift
    /// struct Search: Encodable {
    ///     var text: String
    ///     var tags: [String]
    ///     var page: Int?
    /// }
    /// let query = try Query(encoding: Search(text: "a b", tags: ["x", "y"], page: nil), nesting: .flat)
    /// print(query.text)  // text=a+b&tags=x&tags=y
    /// ```
    ///
    /// A nil is left out. Booleans are `true` and `false`, numbers are decimal digits, and data is Base64.
    ///
    /// - Parameters:
    ///   - value: An object, such as a struct or a dictionary with keys that are strings.
    ///   - nesting: The names of values inside of other values.
    ///   - date: Makes the text of a date; by default, that of ISO 8601 in UTC.
    /// - Throws: `InvalidRequestError` that names the parameter that cannot be encoded, or the error of the value's own
    ///   encoding.
    public init(
        encoding value: some Encodable, nesting: NestingStyle = .bracketed,
        date: @escaping (Date) -> String = { $0.formatted(.iso8601) }
    ) throws {
        let sink = QuerySink(nesting: nesting, date: date)
        try QueryEncoder(sink: sink, codingPath: []).encode(value)
        self.init(sink.items)
    }
}

/// The items of a value that is being encoded.
private final class QuerySink {
    static let depthLimit = 32

    let nesting: NestingStyle
    let date: (Date) -> String
    private(set) var items: [Query.Item] = []

    init(nesting: NestingStyle, date: @escaping (Date) -> String) {
        self.nesting = nesting
        self.date = date
    }

    func append(_ text: String, at path: [any CodingKey]) throws(InvalidRequestError) {
        guard let name = nesting.name(path) else { throw Self.unnamed(path) }
        items.append(Query.Item(name, text))
    }

    static func unnamed(_ path: [any CodingKey]) -> InvalidRequestError {
        guard !path.isEmpty else {
            return InvalidRequestError(
                .invalidParameter, "Only an object can be a query or a form, since its keys are the names.")
        }
        let name = path.map(\.stringValue).joined(separator: ".")
        return InvalidRequestError(
            .invalidParameter,
            "The parameter “\(name)” is inside of another value, for which the nesting style has no name.")
    }
}

private struct QueryEncoder: Encoder {
    let sink: QuerySink
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(QueryObject(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { QueryArray(encoder: self) }

    func singleValueContainer() -> any SingleValueEncodingContainer { QueryScalar(encoder: self) }

    func inside(_ key: any CodingKey) -> QueryEncoder {
        QueryEncoder(sink: sink, codingPath: codingPath + [key])
    }

    func encode(_ value: some Encodable) throws {
        guard codingPath.count < QuerySink.depthLimit else { throw QuerySink.unnamed(codingPath) }
        switch value {
        case let date as Date: try sink.append(sink.date(date), at: codingPath)
        case let data as Data: try sink.append(data.base64EncodedString(), at: codingPath)
        case let url as URL: try sink.append(url.absoluteString, at: codingPath)
        case let scalar as any ParameterValue: try sink.append(scalar.parameterText, at: codingPath)
        default: try value.encode(to: self)
        }
    }
}

private struct QueryObject<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: QueryEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) {}

    // The standard library has a default for these two, which throws.
    func encode(_ value: Int128, forKey key: Key) throws { try encoder.inside(QueryKey(key)).encode(value) }

    func encode(_ value: UInt128, forKey key: Key) throws { try encoder.inside(QueryKey(key)).encode(value) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try encoder.inside(QueryKey(key)).encode(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.inside(QueryKey(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.inside(QueryKey(key)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.inside(QueryKey(stringValue: "super")) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder.inside(QueryKey(key)) }
}

private struct QueryArray: UnkeyedEncodingContainer {
    let encoder: QueryEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    private(set) var count = 0

    init(encoder: QueryEncoder) {
        self.encoder = encoder
    }

    mutating func encodeNil() { count += 1 }

    mutating func encode(_ value: Int128) throws { try next().encode(value) }

    mutating func encode(_ value: UInt128) throws { try next().encode(value) }

    mutating func encode(_ value: some Encodable) throws { try next().encode(value) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { next() }

    private mutating func next() -> QueryEncoder {
        defer { count += 1 }
        return encoder.inside(QueryKey(intValue: count))
    }
}

private struct QueryScalar: SingleValueEncodingContainer {
    let encoder: QueryEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() {}

    func encode(_ value: Int128) throws { try encoder.encode(value) }

    func encode(_ value: UInt128) throws { try encoder.encode(value) }

    func encode(_ value: some Encodable) throws { try encoder.encode(value) }
}

/// A key of an object, which is a name even where it has a number too, or the number of an element.
private struct QueryKey: CodingKey {
    let stringValue: String
    private(set) var intValue: Int?

    init(_ key: some CodingKey) { stringValue = key.stringValue }

    init(stringValue: String) { self.stringValue = stringValue }

    init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
}

/// The names of values that are inside of other values, in a query or a form.
///
/// | style | `["a": ["b": 1]]` | `["a": [1, 2]]` |
/// |---|---|---|
/// | ``flat`` | an error | `a=1&a=2` |
/// | ``dotted`` | `a.b=1` | `a=1&a=2` |
/// | ``bracketedKeys`` | `a[b]=1` | `a=1&a=2` |
/// | ``bracketed`` | `a[b]=1` | `a[]=1&a[]=2` |
/// | ``indexed`` | `a[b]=1` | `a[0]=1&a[1]=2` |
///
/// The brackets are sent percent-encoded, as all characters of a name.
public enum NestingStyle: Sendable, Hashable {
    /// The elements of an array repeat its name; an object or array inside of another has no name.
    case flat
    /// A dot is before each key, and the elements of an array repeat its name.
    case dotted
    /// Each key is in brackets, and empty brackets stand for an element of an array, as Rails and PHP read it.
    case bracketed
    /// Each key is in brackets, and the elements of an array repeat its name, as in `filter[state]=open&tag=a&tag=b`.
    case bracketedKeys
    /// Each key and each number of an element is in brackets.
    case indexed

    /// The name of the value at the end of a path; nil if the style has no name for it.
    fileprivate func name(_ path: [any CodingKey]) -> String? {
        let path = self == .dotted ? path.filter { $0.intValue == nil } : path
        guard let first = path.first, first.intValue == nil else { return nil }
        let rest = path.dropFirst()
        if self == .flat { return rest.count > 1 || rest.contains { $0.intValue == nil } ? nil : first.stringValue }
        return rest.reduce(into: first.stringValue) { name, key in
            switch (self, key.intValue) {
            case (.dotted, nil): name += ".\(key.stringValue)"
            case (_, nil), (.indexed, _): name += "[\(key.stringValue)]"
            case (.bracketed, _): name += "[]"
            default: break
            }
        }
    }
}
