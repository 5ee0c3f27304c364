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
