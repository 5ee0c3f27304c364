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
