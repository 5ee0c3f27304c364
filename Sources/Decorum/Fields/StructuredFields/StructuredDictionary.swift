public import HTTPTypes

/// A structured field of the type Dictionary, whose members stand in their order.
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
    /// - Parameter text: The value, of which an empty one is an empty dictionary; several field lines are joined with
    ///   commas.
    /// - Throws: ``StructuredFieldError`` for a value that is no dictionary.
    public init(parsing text: String) throws(StructuredFieldError) {
        var scanner = StructuredFieldScanner(text)
        self = try scanner.wholeDictionary()
    }

    /// Parses all fields of a name; a dictionary is empty where there is none.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - fields: The fields of a message.
    /// - Throws: ``StructuredFieldError`` when the fields together are no dictionary.
    public init(_ name: HTTPField.Name, in fields: HTTPFields) throws(StructuredFieldError) {
        try self.init(parsing: fields.structuredText(of: name) ?? "")
    }

    /// Writes the dictionary as the value of a field.
    ///
    /// - Returns: The one text that the dictionary has; an empty one is not to be sent (RFC 9651, section 4.1).
    /// - Throws: ``StructuredFieldError`` for a key or a value that no field can hold.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.append(self)
        return writer.text
    }
}
