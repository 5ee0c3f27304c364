import HTTPTypes

/// A set of field names.
///
/// Three letters and the length of a name choose its place, which is empty for most names that are not in the set.
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

    private func place(of name: HTTPField.Name) -> Int {
        // This reads the bytes only once: a stack calls it for each field of each request.
        var text = name.canonicalName
        return text.withUTF8 { bytes in
            let count = bytes.count
            guard count > 0 else { return 0 }
            let letters = unsafe 61 &* Int(bytes[0]) &+ 17 &* Int(bytes[count / 2]) &+ 5 &* Int(bytes[count - 1])
            return (letters &+ 131 &* count) & (isTaken.count - 1)
        }
    }
}
