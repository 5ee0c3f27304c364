/// Finds the pseudonyms in a text by their marks, from the left.
struct PseudonymPlaces {
    private static let alphabets: [PseudonymAlphabet] = [
        .lowercaseAndDigits, .lowercase, .uppercaseAndDigits, .uppercase, .mixedAndDigits, .mixed, .lowercaseHex,
        .uppercaseHex,
    ]
    /// The alphabets and marks by the first byte of the mark, the longer mark first.
    private static let marks: [[(mark: [UInt8], alphabet: PseudonymAlphabet, isLong: Bool)]] = {
        var marks: [[(mark: [UInt8], alphabet: PseudonymAlphabet, isLong: Bool)]] = Array(repeating: [], count: 256)
        for number in 0..<2 {
            for alphabet in alphabets {
                let mark = alphabet.marks[number]
                marks[Int(mark[0])].append((mark, alphabet, number == 0))
            }
        }
        return marks
    }()
    private static let nameLimit = 32
    private static let digitLimit = 9

    private let bytes: [UInt8]

    /// Returns whether the last bytes are the start of a mark, which they are in hardly any text.
    @inline(__always) static func isHint(_ window: UInt32) -> Bool { hintLength(window) > 0 }

    /// The number of the last bytes that are the start of a mark; 0 if none are.
    @inline(__always) private static func hintLength(_ window: UInt32) -> Int {
        // The last bytes of them all: most texts have few of these, and each byte of each URL is looked at.
        switch UInt8(truncatingIfNeeded: window) {
        case 0x5F, 0x71, 0x51, 0x64, 0x44, 0x63, 0x43, 0x31: markLength(window)
        default: 0
        }
    }

    private static func markLength(_ window: UInt32) -> Int {
        switch window & 0xFFFF {
        // `__`, `xq`, `Xq`, `XQ`
        case 0x5F5F, 0x7871, 0x5871, 0x5851: return 2
        default: break
        }
        switch window & 0xFF_FFFF {
        // `red`, `Red`, `RED`, `dec`, `DEC`, `101`
        case 0x72_6564, 0x52_6564, 0x52_4544, 0x64_6563, 0x44_4543, 0x31_3031: return 3
        default: return 0
        }
    }

    static func all(in bytes: [UInt8]) -> [Range<Int>] {
        let places = PseudonymPlaces(bytes: bytes)
        var found: [Range<Int>] = []
        var window: UInt32 = 0
        var index = 0
        while index < bytes.count {
            window = window << 8 | UInt32(bytes[index])
            index += 1
            let length = hintLength(window)
            guard length > 0, let range = places.pseudonym(at: index - length) else { continue }
            found.append(max(range.lowerBound, found.last?.upperBound ?? 0)..<range.upperBound)
            (index, window) = (range.upperBound, 0)
        }
        return found
    }

    private func pseudonym(at index: Int) -> Range<Int>? {
        switch bytes[index] {
        case UInt8(ascii: "_"): return named(at: index)
        case UInt8(ascii: "1"): return digits(at: index)
        default: break
        }
        for (mark, alphabet, isLong) in Self.marks[Int(bytes[index])] where bytes[index...].starts(with: mark) {
            let start = index + mark.count
            guard let number = alphabet.number(in: bytes[start...]) else { continue }
            let filler = bytes[(start + number.length)...].prefix { $0 == alphabet.filler }.count
            let end = start + number.length + filler
            guard end - index >= PseudonymAlphabet.markedLength, !isLong || filler >= 2,
                // A short mark also stands within words.
                isLong || end == bytes.count || !bytes[end].isLetterOrDigit
            else { continue }
            return whole(index..<end)
        }
        return nil
    }

    private func digits(at index: Int) -> Range<Int>? {
        guard index == 0 || !bytes[index - 1].isDigit else { return nil }
        let length = bytes[index...].prefix(40).prefix(while: \.isDigit).count
        guard length >= PseudonymAlphabet.markedDigits,
            PseudonymForm.number(of: Array(bytes[index..<index + length])) != nil
        else {
            return nil
        }
        return whole(index..<index + length)
    }

    /// The range with the parts before and after the one that has the mark.
    private func whole(_ main: Range<Int>) -> Range<Int> {
        var start = main.lowerBound
        var end = main.upperBound
        while let next = part(after: end) { end = next }
        while let previous = part(before: start) { start = previous }
        if let token = TokenPseudonym.start(in: bytes, beforeSignature: start) { start = token }
        return start..<padding(after: end)
    }

    private func part(after end: Int) -> Int? {
        let separator = separatorLength(bytes[end...].prefix(3))
        guard separator > 0 else { return nil }
        let rest = bytes[(end + separator)...]
        let part = rest.prefix(while: \.isLetterOrDigit)
        return Self.isFiller(part) ? part.endIndex : nil
    }

    private func part(before start: Int) -> Int? {
        let isEncoded = start > 2 && separatorLength(bytes[start - 3..<start]) == 3
        let separator = isEncoded ? 3 : start > 0 ? min(1, separatorLength(bytes[start - 1..<start])) : 0
        guard separator > 0 else { return nil }
        let end = start - separator
        let part = bytes[..<end].reversed().prefix(while: \.isLetterOrDigit).count
        guard part > 0 else { return nil }
        if Self.isFiller(bytes[end - part..<end]) { return end - part }
        // A prefix of the path, such as `bot`, may stand before the pseudonym without a separator.
        var length = bytes[..<end].reversed().prefix { $0 == bytes[end - 1] }.count
        if bytes[end - 1] == UInt8(ascii: "0") { length += 1 }
        return length <= part && Self.isFiller(bytes[end - length..<end]) ? end - length : nil
    }

    /// Whether a part has only the filler; the third part of a UUID starts with its version.
    private static func isFiller(_ part: ArraySlice<UInt8>) -> Bool {
        guard let first = part.first else { return false }
        if part.count == 4, first.isDigit, part.dropFirst().allSatisfy({ $0 | 0x20 == 0x61 }) { return true }
        if first == UInt8(ascii: "1") { return part.dropFirst().allSatisfy { $0 == UInt8(ascii: "0") } }
        return first | 0x20 == 0x61 && part.allSatisfy { $0 == first }
    }

    private func separatorLength(_ text: ArraySlice<UInt8>) -> Int {
        guard let first = text.first else { return 0 }
        if "-_.:@".utf8.contains(first) { return 1 }
        guard first == UInt8(ascii: "%") else { return 0 }
        return ["%3A", "%3a", "%40"].contains { text.elementsEqual($0.utf8) } ? 3 : 0
    }

    private func padding(after end: Int) -> Int {
        var end = end
        for _ in 0..<2 {
            if end < bytes.count, bytes[end] == UInt8(ascii: "=") {
                end += 1
            } else if bytes[end...].starts(with: "%3D".utf8) || bytes[end...].starts(with: "%3d".utf8) {
                end += 3
            }
        }
        return end
    }

    /// A pseudonym of an earlier version, such as `__access-token-1__`.
    private func named(at start: Int) -> Range<Int>? {
        let limit = min(bytes.count, start + Self.nameLimit + Self.digitLimit + 5)
        let end = bytes[(start + 2)..<limit].firstIndex {
            !$0.isLowercase && !$0.isDigit && $0 != UInt8(ascii: "-")
        }
        guard let end, bytes[end..<limit].starts(with: "__".utf8),
            let hyphen = bytes[start + 2..<end].lastIndex(of: UInt8(ascii: "-")), hyphen > start + 2
        else { return nil }
        let digits = bytes[hyphen + 1..<end]
        guard (1...Self.digitLimit).contains(digits.count), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy(\.isDigit)
        else { return nil }
        return start..<end + 2
    }
}
