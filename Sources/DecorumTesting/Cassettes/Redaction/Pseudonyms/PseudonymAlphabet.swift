/// The characters of a part of a secret, and those of its pseudonym.
enum PseudonymAlphabet: Hashable, CaseIterable {
    case digits
    case lowercaseHex, uppercaseHex
    case lowercase, lowercaseAndDigits
    /// Without the digits that Base32 lacks.
    case uppercase, uppercaseAndDigits
    case mixed, mixedAndDigits

    /// The length from which a pseudonym is recognized in any text.
    static let markedLength = 6
    /// The length from which digits are recognized; fewer are not distinguished from a number of the API.
    static let markedDigits = 12

    init(of part: some Collection<UInt8>) {
        let hasDigit = part.contains { !$0.isLowercase && !$0.isUppercase }
        let hasLower = part.contains(where: \.isLowercase)
        let hasUpper = part.contains(where: \.isUppercase)
        let isHex = part.allSatisfy { $0.isDigit || (0x61...0x66).contains($0 | 0x20) }
        if part.allSatisfy(\.isDigit) {
            self = .digits
        } else if isHex, hasDigit, part.count >= Self.markedLength, hasLower != hasUpper {
            self = hasLower ? .lowercaseHex : .uppercaseHex
        } else if hasUpper, hasLower {
            self = hasDigit ? .mixedAndDigits : .mixed
        } else if hasUpper {
            self = hasDigit ? .uppercaseAndDigits : .uppercase
        } else {
            self = hasDigit ? .lowercaseAndDigits : .lowercase
        }
    }

    /// The alphabet of a part that consists of the filler.
    var ofFiller: PseudonymAlphabet {
        switch self {
        case .digits: .digits
        case .lowercaseHex, .lowercase, .lowercaseAndDigits: .lowercase
        case .uppercaseHex, .uppercase, .uppercaseAndDigits, .mixed, .mixedAndDigits: .uppercase
        }
    }

    /// The byte that fills a part.
    ///
    /// In Base64, `A` stands for zeros.
    var filler: UInt8 { ofFiller == .lowercase ? UInt8(ascii: "a") : UInt8(ascii: "A") }

    func filler(_ length: Int) -> [UInt8] {
        // A number must not begin with a zero.
        if self == .digits { return (0..<length).map { $0 == 0 ? UInt8(ascii: "1") : UInt8(ascii: "0") } }
        return Array(repeating: filler, count: length)
    }

    /// The marks, the longer one first.
    var marks: [[UInt8]] {
        switch self {
        case .digits: []
        case .lowercaseHex: [Array("dec0de".utf8), Array("dec0".utf8)]
        case .uppercaseHex: [Array("DEC0DE".utf8), Array("DEC0".utf8)]
        case .lowercase, .lowercaseAndDigits: [Array("redacted".utf8), Array("xq".utf8)]
        case .uppercase, .uppercaseAndDigits: [Array("REDACTED".utf8), Array("XQ".utf8)]
        case .mixed, .mixedAndDigits: [Array("Redacted".utf8), Array("Xq".utf8)]
        }
    }

    /// The characters of the number, from that for zero.
    var numerals: [UInt8] {
        switch self {
        case .lowercase, .mixed: Array("bcdefghijk".utf8)
        case .uppercase: Array("BCDEFGHIJK".utf8)
        case .uppercaseAndDigits: Array("234567".utf8)
        case .digits, .lowercaseHex, .uppercaseHex, .lowercaseAndDigits, .mixedAndDigits: Array("0123456789".utf8)
        }
    }

    /// The part with the mark, a number and the filler; without the mark if the part is too short for it.
    func text(number: Int, length: Int) -> [UInt8] {
        if self == .digits { return digits(number: number, length: length) }
        let numeral = numeral(number)
        for (index, mark) in marks.enumerated() where length >= Self.markedLength {
            // A long mark without a filler could not be told from a word with a number.
            let needed = mark.count + numeral.count + (index == 0 ? 2 : 0)
            guard length >= needed else { continue }
            return mark + numeral + filler(length - mark.count - numeral.count)
        }
        let end = numeral.suffix(length)
        return filler(length - end.count) + end
    }

    /// The numbers that a part may have been made with.
    func numbers(of part: ArraySlice<UInt8>) -> [Int] {
        if self == .digits { return (1...4).compactMap { Int(String(decoding: part.suffix($0), as: UTF8.self)) } }
        for mark in marks where part.starts(with: mark) && part.count >= Self.markedLength {
            if let number = number(in: part.dropFirst(mark.count))?.value { return [number] }
        }
        let end = part.reversed().prefix { numerals.contains($0) }.count
        return end > 0 ? [value(of: part.suffix(end))] : []
    }

    /// Whether a part that may be a pseudonym has the mark of one.
    func isMarked(_ part: ArraySlice<UInt8>) -> Bool {
        guard self != .digits else { return part.count >= Self.markedDigits }
        return part.count >= Self.markedLength && marks.contains(where: part.starts)
    }

    /// The number at the start of a text, and the number of its characters; nil if there is none.
    func number(in text: ArraySlice<UInt8>) -> (value: Int, length: Int)? {
        let numeral = text.prefix(9).prefix { numerals.contains($0) }
        guard let first = numeral.first, first != numerals[0] else { return nil }
        return (value(of: numeral), numeral.count)
    }

    private func value(of numeral: ArraySlice<UInt8>) -> Int {
        numeral.prefix(9).reduce(0) { $0 * numerals.count + (numerals.firstIndex(of: $1) ?? 0) }
    }

    private func numeral(_ number: Int) -> [UInt8] {
        var rest = number
        var numeral: [UInt8] = []
        repeat {
            numeral.append(numerals[rest % numerals.count])
            rest /= numerals.count
        } while rest > 0
        return numeral.reversed()
    }

    /// The digits `10` repeated, with the number at the end.
    ///
    /// They are recognized. They are not above most numbers of that
    /// length, so that they fit into the same type of integer.
    private func digits(number: Int, length: Int) -> [UInt8] {
        guard length > 1 else { return [UInt8(ascii: "0") + UInt8(number % 10)] }
        let least = length >= 8 ? 3 : length >= 6 ? 2 : length - 1
        let numeral = numeral(number).suffix(length - 1)
        let padding = Array(repeating: UInt8(ascii: "0"), count: max(0, least - numeral.count))
        let start = (0..<length - padding.count - numeral.count).map { $0.isMultiple(of: 2) ? 0x31 as UInt8 : 0x30 }
        return start + padding + numeral
    }
}
