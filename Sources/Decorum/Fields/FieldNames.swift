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
            guard let place = Self.place(of: name) else { continue }
            lengths[place.letter] |= place.length
        }
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        guard let place = Self.place(of: name) else { return false }
        if lengths[place.letter] & place.length != 0, names.contains(name) { return true }
        return lastLetters != 0 && hasEnding(name.canonicalName.utf8)
    }

    private func hasEnding(_ name: String.UTF8View) -> Bool {
        guard let last = name.last, lastLetters >> UInt32(last & 31) & 1 == 1 else { return false }
        return endings.contains { $0.last == last && name.suffix($0.count).elementsEqual($0) }
    }

    private static func place(of name: HTTPField.Name) -> (letter: Int, length: UInt64)? {
        let bytes = name.canonicalName.utf8
        return bytes.first.map { (Int($0 & 31), 1 << UInt64(bytes.count & 63)) }
    }
}
