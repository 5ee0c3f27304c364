import HTTPTypes

/// Names of fields, and endings of names, of which most names of fields are told apart by their first letter and their length.
struct FieldNames: Sendable {
    private let names: Set<HTTPField.Name>
    /// For each first letter, a bit for each length, modulo 64.
    private var lengths = [UInt64](repeating: 0, count: 32)
    private let endings: [[UInt8]]
    /// A bit for each letter that an ending ends in.
    private let lastLetters: UInt32

    /// Creates a set of names, and of all that have a hyphen before one of some endings in lower case.
    init(_ names: Set<HTTPField.Name>, endings: [String] = []) {
        self.names = names
        self.endings = endings.map { Array("-\($0)".utf8) }
        lastLetters = endings.reduce(0) { $0 | 1 << UInt32(($1.utf8.last ?? 0) & 31) }
        for name in names {
            let (letter, length) = Self.place(of: name.canonicalName.utf8)
            lengths[letter] |= length
        }
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        // In one look at the bytes: a stack asks this for each field of each request.
        var text = name.canonicalName
        let (mayBeNamed, hasEnding) = text.withUTF8 { bytes in
            let (letter, length) = unsafe Self.place(of: bytes)
            let ends = unsafe self.hasEnding(bytes)
            return (lengths[letter] & length != 0, ends)
        }
        return hasEnding || (mayBeNamed && names.contains(name))
    }

    private func hasEnding(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let last = unsafe name.last, lastLetters >> UInt32(last & 31) & 1 == 1 else { return false }
        return endings.contains { unsafe $0.last == last && name.suffix($0.count).elementsEqual($0) }
    }

    private static func place(of name: some Collection<UInt8>) -> (letter: Int, length: UInt64) {
        (Int((name.first ?? 0) & 31), 1 << UInt64(name.count & 63))
    }
}
