import HTTPTypes

/// A set of field names.
///
/// The first letter, the last letter and the length of a name are enough to see that most names are not in it.
struct FieldNames: Sendable {
    /// The names whose first and last letters have one sum.
    private struct Group {
        /// A bit for each length, modulo 64.
        var lengths: UInt64 = 0
        // Comparing a few short texts takes less time than hashing one.
        var names: [String] = []
    }

    private var groups = [Group](repeating: Group(), count: 32)

    /// Creates a set of names.
    init(_ names: Set<HTTPField.Name>) {
        for name in names {
            let (group, length) = Self.place(of: name.canonicalName.utf8)
            groups[group].lengths |= length
            groups[group].names.append(name.canonicalName)
        }
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        // This reads the bytes only once: a stack calls it for each field of each request.
        let bytes = name.canonicalName.utf8
        let place = unsafe bytes.withContiguousStorageIfAvailable { unsafe Self.place(of: $0) }
        let (group, length) = place ?? Self.place(of: bytes)
        return groups[group].lengths & length != 0 && groups[group].names.contains(name.canonicalName)
    }

    private static func place(of name: some BidirectionalCollection<UInt8>) -> (group: Int, length: UInt64) {
        let letters = (name.first ?? 0) &+ (name.last ?? 0)
        return (Int(letters & 31), 1 << UInt64(name.count & 63))
    }
}
