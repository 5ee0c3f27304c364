public import HTTPTypes

/// A structured field of the type List.
///
/// ```swift
/// let list = try StructuredList(.acceptEncoding, in: request.head.headerFields)
/// let codings = list.members.compactMap { $0.item?.value.token }
/// ```
///
/// See RFC 9651, section 3.1.
public struct StructuredList: Sendable, Hashable {
    /// The members.
    public var members: [StructuredMember]

    /// Creates a list.
    ///
    /// - Parameter members: The members.
    public init(_ members: [StructuredMember] = []) {
        self.members = members
    }

    /// Parses the value of a field.
    ///
    /// - Parameter text: The value; an empty value is an empty list, and several field lines are joined with commas.
    /// - Throws: ``StructuredFieldError`` for a value that is not a list.
    public init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = StructuredList(try scanner.wholeList())
    }

    /// Parses all fields of a name; without such a field, the list is empty.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - fields: The fields of a message.
    /// - Throws: ``StructuredFieldError`` when the fields together are not a list.
    public init(_ name: HTTPField.Name, in fields: HTTPFields) throws(StructuredFieldError) {
        try self.init(parsing: fields.structuredText(of: name) ?? "")
    }

    /// Writes the list as the value of a field.
    ///
    /// - Returns: The canonical text; do not send the field of an empty list (RFC 9651, section 4.1).
    /// - Throws: ``StructuredFieldError`` for a key or a value that a field cannot hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

extension StructuredList: ExpressibleByArrayLiteral {
    /// Creates a list of members.
    public init(arrayLiteral elements: StructuredMember...) {
        self.init(elements)
    }
}

/// A structured field of the type Dictionary, whose members keep their order.
///
/// ```swift
/// var priority: StructuredDictionary = ["u": StructuredMember(2)]
/// priority["i"] = StructuredMember(true)
/// request.head.headerFields[.priority] = try priority.serialized()
/// ```
///
/// See RFC 9651, section 3.2.
public typealias StructuredDictionary = StructuredMap<StructuredMember>

extension StructuredDictionary {
    /// Parses the value of a field.
    ///
    /// - Parameter text: The value; an empty value is an empty dictionary, and several field lines are joined with
    ///   commas.
    /// - Throws: ``StructuredFieldError`` for a value that is not a dictionary.
    public init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = try scanner.wholeDictionary()
    }

    /// Parses all fields of a name; without such a field, the dictionary is empty.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - fields: The fields of a message.
    /// - Throws: ``StructuredFieldError`` when the fields together are not a dictionary.
    public init(_ name: HTTPField.Name, in fields: HTTPFields) throws(StructuredFieldError) {
        try self.init(parsing: fields.structuredText(of: name) ?? "")
    }

    /// Writes the dictionary as the value of a field.
    ///
    /// - Returns: The canonical text; do not send the field of an empty dictionary (RFC 9651, section 4.1).
    /// - Throws: ``StructuredFieldError`` for a key or a value that a field cannot hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

/// An ordered map from keys to values, used for the dictionaries and the parameters of structured fields.
///
/// A key is a small letter or `*`, followed by small letters, digits, `_`, `-`, `.` and `*`; any other key causes an
/// error when the map is serialized. A repeated key replaces the value and keeps its position.
///
/// See RFC 9651, sections 3.1.2 and 3.2.
public struct StructuredMap<Value: Sendable & Hashable>: Sendable {
    private var entries: [Entry] = []
    /// The position of each key; empty while there are so few keys that a scan is faster.
    private var places: [String: Int] = [:]

    private struct Entry: Sendable, Hashable {
        let key: String
        var value: Value
    }

    private static var scanLimit: Int { 8 }

    /// Creates an empty map.
    public init() {}

    /// The value of a key; nil when absent, and setting nil removes the key.
    public subscript(_ key: String) -> Value? {
        get { index(of: key).map { entries[$0].value } }
        set {
            if let newValue { set(newValue, for: key) } else { remove(key) }
        }
    }

    /// The keys in their order.
    public var keys: [String] { entries.map(\.key) }

    mutating func set(_ value: Value, for key: String) {
        if let index = index(of: key) {
            entries[index].value = value
            return
        }
        entries.append(Entry(key: key, value: value))
        if entries.count == Self.scanLimit + 1 {
            for (index, entry) in entries.enumerated() { places[entry.key] = index }
        } else if entries.count > Self.scanLimit {
            places[key] = entries.count - 1
        }
    }

    private mutating func remove(_ key: String) {
        guard let index = index(of: key) else { return }
        entries.remove(at: index)
        places = [:]
        guard entries.count > Self.scanLimit else { return }
        for (index, entry) in entries.enumerated() { places[entry.key] = index }
    }

    private func index(of key: String) -> Int? {
        guard places.isEmpty else { return places[key] }
        for index in entries.indices where entries[index].key == key { return index }
        return nil
    }
}

extension StructuredMap: RandomAccessCollection {
    /// The position of the first key.
    public var startIndex: Int { 0 }

    /// The number of keys.
    public var endIndex: Int { entries.count }

    /// The key and the value at a position.
    public subscript(position: Int) -> (key: String, value: Value) { (entries[position].key, entries[position].value) }
}

extension StructuredMap: Hashable {
    /// Whether both have the same keys and values in the same order.
    public static func == (lhs: StructuredMap, rhs: StructuredMap) -> Bool { lhs.entries == rhs.entries }

    /// Hashes the keys and values in their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(entries)
    }
}

extension StructuredMap: ExpressibleByDictionaryLiteral {
    /// Creates a map with the keys of a literal in their order.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (key, value) in elements { set(value, for: key) }
    }
}
