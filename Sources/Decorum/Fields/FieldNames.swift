import HTTPTypes

/// A set of field names.
///
/// The first letter and the length of a name are enough to see that most names are not in it.
struct FieldNames: Sendable {
    private let names: Set<HTTPField.Name>
    /// For each first letter, a bit for each length, modulo 64.
    private var lengths = [UInt64](repeating: 0, count: 32)

    /// Creates a set of names.
    init(_ names: Set<HTTPField.Name>) {
        self.names = names
        for name in names {
            let (letter, length) = Self.place(of: name.canonicalName.utf8)
            lengths[letter] |= length
        }
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        // This reads the bytes only once: a stack calls it for each field of each request.
        var text = name.canonicalName
        let mayBeNamed = text.withUTF8 { bytes in
            let (letter, length) = unsafe Self.place(of: bytes)
            return lengths[letter] & length != 0
        }
        return mayBeNamed && names.contains(name)
    }

    private static func place(of name: some Collection<UInt8>) -> (letter: Int, length: UInt64) {
        (Int((name.first ?? 0) & 31), 1 << UInt64(name.count & 63))
    }
}
