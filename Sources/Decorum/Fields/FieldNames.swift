import HTTPTypes

/// Names of fields, of which most names of fields are told apart by their first letter and their length.
struct FieldNames: Sendable {
    private let names: Set<HTTPField.Name>
    /// For each first letter, a bit for each length, modulo 64.
    private var lengths = [UInt64](repeating: 0, count: 32)

    init(_ names: Set<HTTPField.Name>) {
        self.names = names
        for name in names {
            guard let place = Self.place(of: name) else { continue }
            lengths[place.letter] |= place.length
        }
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        guard let place = Self.place(of: name), lengths[place.letter] & place.length != 0 else { return false }
        return names.contains(name)
    }

    private static func place(of name: HTTPField.Name) -> (letter: Int, length: UInt64)? {
        let bytes = name.canonicalName.utf8
        return bytes.first.map { (Int($0 & 31), 1 << UInt64(bytes.count & 63)) }
    }
}
