/// The last letters of a set of names, which are enough to see that most other names are not in it.
///
/// It makes this check fast: a stack checks each field of each request for a secret name, and very few names are
/// secret.
struct NameEndings: Sendable {
    /// For each last letter, a bit for each letter that comes before it in some name.
    private var pairs: [UInt32]
    /// The endings by their last letter.
    private var endings: [[[UInt8]]] = Array(repeating: [], count: 32)

    init() {
        // A byte that is ignored in a spelling, or that is not ASCII, may come before or after any letter.
        pairs = Array(repeating: Self.bits(of: [0x20, UInt8(ascii: "-"), UInt8(ascii: "_")]), count: 32)
        for byte in [0x20, UInt8(ascii: "-"), UInt8(ascii: "_")] { pairs[Int(byte & 31)] = .max }
    }

    /// Adds a normalised name by its last two letters.
    mutating func insert(name: some BidirectionalCollection<UInt8>) {
        guard let last = name.last else { return }
        pairs[Int(last & 31)] |= name.dropLast().last.map { 1 << UInt32($0 & 31) } ?? .max
    }

    /// Adds a normalised ending.
    mutating func insert(ending: [UInt8]) {
        insert(name: ending)
        if let last = ending.last { endings[Int(last & 31)].append(ending) }
    }

    /// Whether a name in any spelling may be one of these names, or end like one of them.
    func mayMatch(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        guard let last = name.last else { return false }
        guard let before = name.dropLast().last else { return true }
        return last >= 0x80 || before >= 0x80 || pairs[Int(last & 31)] >> UInt32(before & 31) & 1 == 1
    }

    /// Whether a name in any spelling ends in one of the endings.
    func endName(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        guard let last = name.last(where: { !SecretNames.isPassedOver($0) }) else { return false }
        return endings[Int(last & 31)].contains { Self.hasEnding(name, $0) }
    }

    private static func hasEnding(_ name: some BidirectionalCollection<UInt8>, _ ending: [UInt8]) -> Bool {
        var end = name.endIndex
        for byte in ending.reversed() {
            repeat {
                guard end > name.startIndex else { return false }
                end = name.index(before: end)
            } while SecretNames.isPassedOver(name[end])
            let last = name[end]
            guard ((0x41...0x5A).contains(last) ? last | 0x20 : last) == byte else { return false }
        }
        return true
    }

    private static func bits(of bytes: [UInt8]) -> UInt32 {
        bytes.reduce(0) { $0 | 1 << UInt32($1 & 31) }
    }
}
