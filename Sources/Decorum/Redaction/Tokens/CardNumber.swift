/// The number of a payment card at the start of a text (ISO/IEC 7812), which ends in a check digit.
///
/// One number in ten has a right check digit by chance. So digits without blanks or hyphens between their groups count
/// only behind the word `card` or `pan`.
struct CardNumber {
    private static let reach = 32

    let range: Range<Int>

    init?(startingIn text: ArraySlice<UInt8>, after before: ArraySlice<UInt8>) {
        // The first digits of the large networks.
        guard let first = text.first, (0x32...0x36).contains(first) else { return nil }
        var digits: [UInt8] = []
        var groups: [Int] = [0]
        var separator: UInt8?
        var end = text.startIndex
        scan: for index in text.indices.prefix(20) {
            switch text[index] {
            case 0x30...0x39:
                digits.append(text[index] - 0x30)
                groups[groups.count - 1] += 1
                end = index + 1
            case 0x20, UInt8(ascii: "-"):
                guard groups[groups.count - 1] >= 4, separator == nil || separator == text[index], digits.count < 15
                else {
                    break scan
                }
                separator = text[index]
                groups.append(0)
            default: break scan
            }
        }
        if groups.last == 0 { groups.removeLast() }
        if end < text.endIndex, TokenSearch.isWord(text[end]) { return nil }
        let isGrouped = groups == [4, 4, 4, 4] || groups == [4, 6, 5]
        guard isGrouped || groups.count == 1 && (15...16).contains(digits.count), Self.isIssued(digits),
            Self.hasCheckDigit(digits), isGrouped || Self.isAnnounced(before)
        else { return nil }
        range = text.startIndex..<end
    }

    private static func isIssued(_ digits: [UInt8]) -> Bool {
        let start = digits.prefix(4).reduce(0) { $0 * 10 + Int($1) }
        if digits.count == 15 { return start / 100 == 34 || start / 100 == 37 }
        switch start {
        case 4000...4999, 5100...5599, 2221...2720, 6011, 6440...6599, 3528...3589: return true
        default: return false
        }
    }

    /// The formula of Luhn (ISO/IEC 7812-1, annex B).
    private static func hasCheckDigit(_ digits: [UInt8]) -> Bool {
        let sum = digits.reversed().enumerated().reduce(0) { sum, digit in
            let value = Int(digit.element) * (digit.offset.isMultiple(of: 2) ? 1 : 2)
            return sum + (value > 9 ? value - 9 : value)
        }
        return sum.isMultiple(of: 10)
    }

    private static func isAnnounced(_ before: ArraySlice<UInt8>) -> Bool {
        let words = before.suffix(reach).map { $0 | 0x20 }
        return words.indices.contains {
            words[$0...].starts(with: "card".utf8) || words[$0...].starts(with: "pan".utf8)
        }
    }
}
