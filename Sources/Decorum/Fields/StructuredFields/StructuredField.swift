package import Foundation
package import HTTPTypes

/// A value of a structured field without parameters, called a bare item in RFC 9651, section 3.3.
///
/// A value that a field cannot hold, such as a token with a blank, causes an error when it is serialized.
package enum StructuredValue: Sendable, Equatable {
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

    @inline(never) package static func == (one: Self, other: Self) -> Bool {
        switch (one, other) {
        case (.integer(let one), .integer(let other)), (.decimal(let one), .decimal(let other)): one == other
        case (.string(let one), .string(let other)), (.token(let one), .token(let other)),
            (.displayString(let one), .displayString(let other)):
            one == other
        case (.byteSequence(let one), .byteSequence(let other)): one == other
        case (.boolean(let one), .boolean(let other)): one == other
        case (.date(let one), .date(let other)): one == other
        default: false
        }
    }

    /// The nearest decimal to a number; of two equally near ones, that whose last digit is even.
    package static func decimal(_ number: Double) -> StructuredValue {
        let rounded = (number * 1000).rounded(.toNearestOrEven)
        return .decimal(thousandths: Int64(exactly: rounded) ?? (rounded > 0 ? .max : .min))
    }

    package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    package var decimal: Double? {
        if case .decimal(let thousandths) = self { Double(thousandths) / 1000 } else { nil }
    }

    package var string: String? { if case .string(let text) = self { text } else { nil } }
    package var token: String? { if case .token(let word) = self { word } else { nil } }
    package var byteSequence: Data? { if case .byteSequence(let bytes) = self { bytes } else { nil } }
    package var boolean: Bool? { if case .boolean(let isTrue) = self { isTrue } else { nil } }
    package var date: Date? { if case .date(let date) = self { date } else { nil } }
    package var displayString: String? { if case .displayString(let text) = self { text } else { nil } }
}

extension StructuredValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByStringLiteral
{
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .decimal(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(stringLiteral value: String) { self = .string(value) }
}

/// The parameters of an item or an inner list, in their order (RFC 9651, section 3.1.2).
package typealias StructuredParameters = StructuredMap<StructuredValue>

/// A value with parameters: a structured field of the type Item, or a part of one of the other types (RFC 9651, section 3.3).
package struct StructuredItem: Sendable, Equatable {
    package var value: StructuredValue
    package var parameters: StructuredParameters

    package init(_ value: StructuredValue, parameters: StructuredParameters = [:]) {
        self.value = value
        self.parameters = parameters
    }

    package init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = try scanner.wholeItem()
    }

    /// Parses the field of a name; nil when absent.
    package init?(_ name: HTTPField.Name, in fields: HTTPFields) throws(StructuredFieldError) {
        guard let text = fields.structuredText(of: name) else { return nil }
        try self.init(parsing: text)
    }

    package func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

extension StructuredParameters {
    package func serialized() throws(StructuredFieldError) -> String {
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
package enum StructuredMember: Sendable, Equatable {
    /// A value with parameters.
    case item(StructuredItem)
    /// Items in parentheses, with parameters of the inner list as a whole (RFC 9651, section 3.1.1).
    case innerList([StructuredItem], parameters: StructuredParameters)

    package init(_ value: StructuredValue, parameters: StructuredParameters = [:]) {
        self = .item(StructuredItem(value, parameters: parameters))
    }

    package init(_ items: [StructuredItem], parameters: StructuredParameters = [:]) {
        self = .innerList(items, parameters: parameters)
    }

    package var item: StructuredItem? { if case .item(let item) = self { item } else { nil } }

    package var innerList: [StructuredItem]? { if case .innerList(let items, _) = self { items } else { nil } }

    /// The parameters of the item, or of the inner list as a whole.
    package var parameters: StructuredParameters {
        switch self {
        case .item(let item): item.parameters
        case .innerList(_, let parameters): parameters
        }
    }

    package func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

/// A structured field of the type List (RFC 9651, section 3.1).
package struct StructuredList: Sendable, Equatable {
    package var members: [StructuredMember]

    package init(_ members: [StructuredMember] = []) {
        self.members = members
    }

    /// Parses the value of a field, of which an empty one is an empty list; several field lines are joined with commas.
    package init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = StructuredList(try scanner.wholeList())
    }

    /// Parses all fields of a name; without such a field, the list is empty.
    package init(_ name: HTTPField.Name, in fields: HTTPFields) throws(StructuredFieldError) {
        try self.init(parsing: fields.structuredText(of: name) ?? "")
    }

    package func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

extension StructuredList: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: StructuredMember...) { self.init(elements) }
}

/// A structured field of the type Dictionary, whose members keep their order (RFC 9651, section 3.2).
package typealias StructuredDictionary = StructuredMap<StructuredMember>

extension StructuredDictionary {
    /// Parses the value of a field, of which an empty one is an empty dictionary; field lines are joined with commas.
    package init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = try scanner.wholeDictionary()
    }

    /// Parses all fields of a name; without such a field, the dictionary is empty.
    package init(
        _ name: HTTPField.Name, in fields: HTTPFields, allowingRepeatedKeys: Bool = true
    ) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(fields.structuredText(of: name) ?? "")
        self = try scanner.wholeDictionary(allowingRepeatedKeys: allowingRepeatedKeys)
    }

    package func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

/// An ordered map from keys to values, used for the dictionaries and the parameters of structured fields.
///
/// A key is a small letter or `*`, followed by small letters, digits, `_`, `-`, `.` and `*`; any other key causes an
/// error when the map is serialized. A repeated key replaces the value and keeps its position (RFC 9651, 3.1.2, 3.2).
package struct StructuredMap<Value: Sendable & Equatable>: Sendable {
    private var entries: [Entry] = []
    /// The position of each key; empty while there are so few keys that a scan is faster.
    private var places: [String: Int] = [:]

    private struct Entry: Sendable, Equatable {
        let key: String
        var value: Value
    }

    private static var scanLimit: Int { 8 }

    package init() {}

    /// The value of a key; nil when absent, and setting nil removes the key.
    package subscript(_ key: String) -> Value? {
        get { index(of: key).map { entries[$0].value } }
        set {
            if let newValue { set(newValue, for: key) } else { remove(key) }
        }
    }

    package var keys: [String] { entries.map(\.key) }

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
    package var startIndex: Int { 0 }

    package var endIndex: Int { entries.count }

    package subscript(position: Int) -> (key: String, value: Value) { (entries[position].key, entries[position].value) }
}

extension StructuredMap: Hashable {
    /// Whether both have the same keys and values in the same order.
    package static func == (lhs: StructuredMap, rhs: StructuredMap) -> Bool { lhs.entries == rhs.entries }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(keys)
    }
}

extension StructuredMap: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, Value)...) {
        for (key, value) in elements { set(value, for: key) }
    }
}
