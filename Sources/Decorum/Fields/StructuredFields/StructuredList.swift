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
