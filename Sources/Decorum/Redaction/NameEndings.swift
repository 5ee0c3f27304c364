/// The last letters of names, by which most names are told apart that are not among them.
///
/// A stack asks of each field of each request whether its name is one of a secret, and hardly any is.
struct NameEndings: Sendable {
    /// For each last letter, a bit for each letter that stands before it in some name.
    private var pairs: [UInt32]
    /// The endings by their last letter.
    private var endings: [[[UInt8]]] = Array(repeating: [], count: 32)

    init() {
        // A byte that is passed over in a spelling, or that is not ASCII, may stand before any letter and behind it.
        pairs = Array(repeating: Self.bits(of: [0x20, UInt8(ascii: "-"), UInt8(ascii: "_")]), count: 32)
        for byte in [0x20, UInt8(ascii: "-"), UInt8(ascii: "_")] { pairs[Int(byte & 31)] = .max }
    }

    /// Adds a normalised name, of which the last two letters tell it from others.
    mutating func insert(name: some BidirectionalCollection<UInt8>) {
        guard let last = name.last else { return }
        pairs[Int(last & 31)] |= name.dropLast().last.map { 1 << UInt32($0 & 31) } ?? .max
    }

    /// Adds a normalised ending.
    mutating func insert(ending: [UInt8]) {
        insert(name: ending)
        if let last = ending.last { endings[Int(last & 31)].append(ending) }
    }

    /// Whether a name in any spelling may be one of these, or end as one of these does.
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
