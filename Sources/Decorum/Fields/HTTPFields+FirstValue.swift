import HTTPTypes

extension HTTPFields {
    /// The value of the first field of a name; faster than the subscript, which searches all fields and joins their
    /// values.
    func firstValue(of name: HTTPField.Name) -> String? {
        first { $0.name == name }?.value
    }

    /// Whether both have the same fields of a name.
    func hasSame(_ name: HTTPField.Name, as other: HTTPFields) -> Bool {
        lazy.filter { $0.name == name }.elementsEqual(other.lazy.filter { $0.name == name })
    }
}
