public import HTTPTypes

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
    /// What is said about the value.
    public var parameters: StructuredParameters

    /// Creates an item.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - parameters: What is said about the value.
    public init(_ value: StructuredValue, parameters: StructuredParameters = [:]) {
        self.value = value
        self.parameters = parameters
    }

    /// Parses the value of a field.
    ///
    /// - Parameter text: The value; that of several field lines is joined with commas.
    /// - Throws: ``StructuredFieldError`` for a value that is empty or no item.
    public init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = try scanner.wholeItem()
    }

    /// Parses the field of a name; nil where there is none.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - fields: The fields of a message.
    /// - Throws: ``StructuredFieldError`` for a field that is empty or no item, or that comes several times.
    public init?(_ name: HTTPField.Name, in fields: HTTPFields) throws(StructuredFieldError) {
        guard let text = fields.structuredText(of: name) else { return nil }
        try self.init(parsing: text)
    }

    /// Writes the item as the value of a field.
    ///
    /// - Returns: The one text that the item has (RFC 9651, section 4.1.3).
    /// - Throws: ``StructuredFieldError`` for a key or a value that no field can hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

extension StructuredParameters {
    /// Writes the parameters as they follow a value, each with its semicolon.
    ///
    /// - Returns: The one text that the parameters have (RFC 9651, section 4.1.1.2).
    /// - Throws: ``StructuredFieldError`` for a key or a value that no field can hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

extension HTTPFields {
    /// The values of all fields of a name, joined with commas as RFC 9651, section 4.2 asks; nil where there is none.
    func structuredText(of name: HTTPField.Name) -> String? {
        guard contains(name) else { return nil }
        return lazy.filter { $0.name == name }.map(\.value).joined(separator: ", ")
    }
}

/// A member of a list or a dictionary: an item, or an inner list.
public enum StructuredMember: Sendable, Hashable {
    /// A value with parameters.
    case item(StructuredItem)
    /// Items in parentheses.
    case innerList(StructuredInnerList)

    /// Creates a member that is an item.
    ///
    /// - Parameters:
    ///   - value: The value of the item.
    ///   - parameters: What is said about the value.
    public init(_ value: StructuredValue, parameters: StructuredParameters = [:]) {
        self = .item(StructuredItem(value, parameters: parameters))
    }

    /// Creates a member that is an inner list.
    ///
    /// - Parameters:
    ///   - items: The items of the inner list.
    ///   - parameters: What is said about the whole.
    public init(_ items: [StructuredItem], parameters: StructuredParameters = [:]) {
        self = .innerList(StructuredInnerList(items, parameters: parameters))
    }

    /// The item; nil where this is an inner list.
    public var item: StructuredItem? {
        guard case .item(let item) = self else { return nil }
        return item
    }

    /// The inner list; nil where this is an item.
    public var innerList: StructuredInnerList? {
        guard case .innerList(let list) = self else { return nil }
        return list
    }

    /// What is said about the item, or about the inner list as a whole.
    public var parameters: StructuredParameters {
        switch self {
        case .item(let item): item.parameters
        case .innerList(let list): list.parameters
        }
    }

    /// Writes the member as it stands in a list, or after the key of a dictionary.
    ///
    /// - Returns: The one text that the member has, which for true is `?1` though a dictionary leaves it out.
    /// - Throws: ``StructuredFieldError`` for a key or a value that no field can hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}

/// Items in parentheses, with parameters of the whole beside those of each item.
///
/// See RFC 9651, section 3.1.1.
public struct StructuredInnerList: Sendable, Hashable {
    /// The items.
    public var items: [StructuredItem]
    /// What is said about the whole.
    public var parameters: StructuredParameters

    /// Creates an inner list.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - parameters: What is said about the whole.
    public init(_ items: [StructuredItem], parameters: StructuredParameters = [:]) {
        self.items = items
        self.parameters = parameters
    }

    /// Writes the inner list as it stands in a field.
    ///
    /// - Returns: The one text that the inner list has (RFC 9651, section 4.1.1.1).
    /// - Throws: ``StructuredFieldError`` for a key or a value that no field can hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}
