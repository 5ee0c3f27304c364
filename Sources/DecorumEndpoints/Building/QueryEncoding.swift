import Decorum
public import Foundation

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
        let steps = path.map { $0.intValue.map(NestingStyle.Step.index) ?? .key($0.stringValue) }
        guard !steps.isEmpty, let name = nesting.name(steps) else { throw Self.unnamed(path) }
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
    func encode(_ value: Int128, forKey key: Key) throws { try encoder.inside(Member(key)).encode(value) }

    func encode(_ value: UInt128, forKey key: Key) throws { try encoder.inside(Member(key)).encode(value) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try encoder.inside(Member(key)).encode(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.inside(Member(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.inside(Member(key)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.inside(Member("super")) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder.inside(Member(key)) }
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
        return encoder.inside(Element(intValue: count))
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

/// A key of an object, which is a name even where it has a number too.
private struct Member: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ key: some CodingKey) { stringValue = key.stringValue }

    init(_ name: String) { stringValue = name }

    init?(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}

private struct Element: CodingKey {
    let number: Int
    var stringValue: String { String(number) }
    var intValue: Int? { number }

    init(intValue: Int) { number = intValue }

    init?(stringValue: String) { nil }
}
