import HTTPTypes

extension HTTPFields {
    /// The value of the first field of a name; unlike the subscript, it does not look for more to join, which takes long.
    func firstValue(of name: HTTPField.Name) -> String? {
        first { $0.name == name }?.value
    }

    /// Whether the fields of a name are the same in both.
    func hasSame(_ name: HTTPField.Name, as other: HTTPFields) -> Bool {
        lazy.filter { $0.name == name }.elementsEqual(other.lazy.filter { $0.name == name })
    }
}
