import HTTPTypes

/// A set of field names.
///
/// The first letter, the last letter and the length of a name choose its place, which is empty for most names that are
/// not in the set.
struct FieldNames: Sendable {
    private var isTaken: [Bool]
    // Comparing one or two short texts takes less time than hashing one.
    private var names: [[String]]

    /// Creates a set of names.
    init(_ names: Set<HTTPField.Name>) {
        var size = 64
        while size < 8 * names.count { size *= 2 }
        isTaken = Array(repeating: false, count: size)
        self.names = Array(repeating: [], count: size)
        for name in names {
            let place = place(of: name)
            isTaken[place] = true
            self.names[place].append(name.canonicalName)
        }
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        let place = place(of: name)
        return isTaken[place] && names[place].contains(name.canonicalName)
    }

    private func place(of name: HTTPField.Name) -> Int { Self.hash(of: name) & (isTaken.count - 1) }

    /// A number that differs for most names.
    static func hash(of name: HTTPField.Name) -> Int {
        // This reads the bytes only once: a stack calls it for each field of each request.
        let bytes = name.canonicalName.utf8
        return unsafe bytes.withContiguousStorageIfAvailable { unsafe hash(of: $0) } ?? hash(of: Array(bytes))
    }

    @inline(__always)
    private static func hash(of name: some RandomAccessCollection<UInt8>) -> Int {
        61 &* Int(name.first ?? 0) &+ 5 &* Int(name.last ?? 0) &+ 131 &* name.count
    }
}
