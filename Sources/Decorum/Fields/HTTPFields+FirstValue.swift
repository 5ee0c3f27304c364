import HTTPTypes

extension HTTPFields {
    /// The value of the first field of a name; faster than the subscript, which searches all fields and joins their
    /// values.
    func firstValue(of name: HTTPField.Name) -> String? {
        first { $0.name == name }?.value
    }

    /// Whether there is a field of a name; faster than `contains`, since most names have another length.
    func has(_ name: HTTPField.Name) -> Bool {
        let length = name.canonicalName.utf8.count
        for index in indices {
            let other = self[index].name.canonicalName
            if other.utf8.count == length, other == name.canonicalName { return true }
        }
        return false
    }

    /// Whether both have the same fields of a name.
    func hasSame(_ name: HTTPField.Name, as other: HTTPFields) -> Bool {
        lazy.filter { $0.name == name }.elementsEqual(other.lazy.filter { $0.name == name })
    }
}
