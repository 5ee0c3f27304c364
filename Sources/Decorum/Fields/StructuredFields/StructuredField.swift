public import Foundation
public import HTTPTypes

/// A value of a structured field without parameters, called a bare item in RFC 9651, section 3.3.
///
/// A literal stands for an integer, a decimal, a string or a Boolean; a token has to be written `.token("gzip")`, since
/// it differs from the string `"gzip"`.
///
/// Any value can be created; a value that a field cannot hold, such as a token with a blank, causes an error when it is
/// serialized.
public enum StructuredValue: Sendable, Hashable {
    /// A whole number of up to fifteen digits.
    case integer(Int64)
    /// A number with up to three digits after the point, times 1000.
    case decimal(thousandths: Int64)
    /// Text of printable ASCII characters, written in quotation marks.
    case string(String)
    /// A word, written as it is: a letter or `*`, then the characters of a method or field name, `:` and `/`.
    case token(String)
    /// Bytes, written in base64.
    case byteSequence(Data)
    /// True or false.
    case boolean(Bool)
    /// A point in time; a fraction of a second is cut off.
    case date(Date)
    /// Text of any characters for display to people; it is not sanitized and may hold control characters.
    case displayString(String)

    /// The nearest decimal to a number; of two equally near ones, that whose last digit is even.
    ///
    /// - Parameter number: The number; one from 10¹² on, and NaN, cannot be serialized.
    /// - Returns: The decimal.
    public static func decimal(_ number: Double) -> StructuredValue {
        let rounded = (number * 1000).rounded(.toNearestOrEven)
        return .decimal(thousandths: Int64(exactly: rounded) ?? (rounded > 0 ? .max : .min))
    }

    /// The number of an integer.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The number of a decimal.
    public var decimal: Double? {
        if case .decimal(let thousandths) = self { Double(thousandths) / 1000 } else { nil }
    }

    /// The text of a string.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The word of a token.
    public var token: String? { if case .token(let word) = self { word } else { nil } }

    /// The bytes of a byte sequence.
    public var byteSequence: Data? { if case .byteSequence(let bytes) = self { bytes } else { nil } }

    /// Whether a Boolean is true.
    public var boolean: Bool? { if case .boolean(let isTrue) = self { isTrue } else { nil } }

    /// The point in time of a date.
    public var date: Date? { if case .date(let date) = self { date } else { nil } }

    /// The text of a display string.
    public var displayString: String? { if case .displayString(let text) = self { text } else { nil } }
}

extension StructuredValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByStringLiteral
{
    /// Creates an integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// Creates a decimal.
    public init(floatLiteral value: Double) {
        self = .decimal(value)
    }

    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) {
        self = .boolean(value)
    }

    /// Creates a string, not a token.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

/// The parameters of an item or an inner list, in their order.
///
/// See RFC 9651, section 3.1.2.
public typealias StructuredParameters = StructuredMap<StructuredValue>

/// A value with parameters: a structured field of the type Item, or a part of one of the other types.
///
/// ```swift
/// let item = try StructuredItem(parsing: "text/html; charset=utf-8")
/// let charset = item.parameters["charset"]?.token
/// ```
///
/// See RFC 9651, section 3.3.
public struct StructuredItem: Sendable, Hashable {
    /// The value.
    public var value: StructuredValue
    /// The parameters of the value.
    public var parameters: StructuredParameters

    /// Creates an item.
    public init(_ value: StructuredValue, parameters: StructuredParameters = [:]) {
        self.value = value
        self.parameters = parameters
    }

    /// Parses the value of a field; throws ``StructuredFieldError`` if it is empty or not an item.
    public init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = try scanner.wholeItem()
    }

    /// Parses the field of a name; nil when absent.
    ///
    /// - Throws: ``StructuredFieldError`` for a field that is empty, not an item, or present several times.
    public init?(_ name: HTTPField.Name, in fields: HTTPFields) throws(StructuredFieldError) {
        guard let text = fields.structuredText(of: name) else { return nil }
        try self.init(parsing: text)
    }

    /// Writes the item as the value of a field.
    ///
    /// - Returns: The canonical text (RFC 9651, section 4.1.3).
    /// - Throws: ``StructuredFieldError`` for a key or a value that a field cannot hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

extension StructuredParameters {
    /// Writes the parameters as they appear after a value, each with its semicolon.
    ///
    /// - Returns: The canonical text (RFC 9651, section 4.1.1.2).
    /// - Throws: ``StructuredFieldError`` for a key or a value that a field cannot hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

extension HTTPFields {
    /// The values of all fields of a name, joined with commas as RFC 9651, section 4.2 asks; nil when absent.
    func structuredText(of name: HTTPField.Name) -> String? {
        guard contains(name) else { return nil }
        return lazy.filter { $0.name == name }.map(\.value).joined(separator: ", ")
    }
}

/// A member of a list or a dictionary: an item, or an inner list.
public enum StructuredMember: Sendable, Hashable {
    /// A value with parameters.
    case item(StructuredItem)
    /// Items in parentheses, with parameters of the inner list as a whole (RFC 9651, section 3.1.1).
    case innerList([StructuredItem], parameters: StructuredParameters)

    /// Creates a member that is an item.
    public init(_ value: StructuredValue, parameters: StructuredParameters = [:]) {
        self = .item(StructuredItem(value, parameters: parameters))
    }

    /// Creates a member that is an inner list.
    public init(_ items: [StructuredItem], parameters: StructuredParameters = [:]) {
        self = .innerList(items, parameters: parameters)
    }

    /// The item; nil for an inner list.
    public var item: StructuredItem? { if case .item(let item) = self { item } else { nil } }

    /// The items of an inner list; nil for an item.
    public var innerList: [StructuredItem]? { if case .innerList(let items, _) = self { items } else { nil } }

    /// The parameters of the item, or of the inner list as a whole.
    public var parameters: StructuredParameters {
        switch self {
        case .item(let item): item.parameters
        case .innerList(_, let parameters): parameters
        }
    }

    /// Writes the member as in a list, or as after the key of a dictionary.
    ///
    /// - Returns: The canonical text; for true it is `?1`, which a dictionary leaves out.
    /// - Throws: ``StructuredFieldError`` for a key or a value that a field cannot hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

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
    public init(_ members: [StructuredMember] = []) {
        self.members = members
    }

    /// Parses the value of a field, of which an empty one is an empty list; several field lines are joined with commas.
    ///
    /// - Throws: ``StructuredFieldError`` for a value that is not a list.
    public init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = StructuredList(try scanner.wholeList())
    }

    /// Parses all fields of a name; without such a field, the list is empty.
    ///
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
    /// Parses the value of a field, of which an empty one is an empty dictionary; field lines are joined with commas.
    ///
    /// - Throws: ``StructuredFieldError`` for a value that is not a dictionary.
    public init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = try scanner.wholeDictionary()
    }

    /// Parses all fields of a name; without such a field, the dictionary is empty.
    ///
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
