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
