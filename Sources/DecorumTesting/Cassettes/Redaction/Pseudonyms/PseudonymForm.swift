/// The format of a secret, which its pseudonym keeps: the length, the alphabet, and the characters that separate its
/// parts.
///
/// The longest part carries a mark, a number and a filler, as in `Redacted1AAAAAAAAAAA`; all others consist of the
/// filler. The entropy of such a text is too low for secret scanners, it has no prefix of a service, and with the
/// filler at its end it is valid Base64. Secrets of one format have pseudonyms of one format, so that a new recording
/// with other secrets is the same file.
struct PseudonymForm: Hashable {
    enum Part: Hashable {
        /// A character that stays.
        case separator(UInt8)
        case filled(PseudonymAlphabet, length: Int)
        /// The part with the mark and the number.
        case numbered(PseudonymAlphabet, length: Int)
    }

    private(set) var parts: [Part] = []

    /// The format of a secret.
    init(of secret: some Sequence<UInt8>) {
        self.init(Self.units(of: Array(secret)), isNumber: false)
    }

    /// The format of a number of JSON, whose sign, point and exponent mark stay.
    init(ofNumber number: some Sequence<UInt8>) {
        self.init(Array(number), isNumber: true)
    }

    private init(_ units: [UInt8], isNumber: Bool) {
        if !isNumber, let parts = Self.partsOfUUID(units) {
            self.parts = parts
            return
        }
        var runs: [Range<Int>] = []
        var start = 0
        for (index, unit) in units.enumerated() where Self.separates(unit, isNumber: isNumber) {
            if start < index { runs.append(start..<index) }
            start = index + 1
        }
        if start < units.count { runs.append(start..<units.count) }
        func weight(_ run: Range<Int>) -> Int {
            // A part of digits has no room for a mark.
            run.count * 2 - (units[run].allSatisfy(\.isDigit) ? 1_000_000 : 0)
        }
        let longest = runs.indices.max { weight(runs[$0]) < weight(runs[$1]) }
        var end = 0
        for (index, run) in runs.enumerated() {
            parts += units[end..<run.lowerBound].map { .separator($0) }
            let alphabet = PseudonymAlphabet(of: units[run])
            // Scanners find the tokens of bots by their digits before a colon.
            let beforeColon =
                alphabet == .digits && !isNumber && units[run.upperBound...].first == UInt8(ascii: ":")
                && (run.lowerBound == 0 || ".:".utf8.contains(units[run.lowerBound - 1]))
            parts.append(
                index == longest
                    ? .numbered(alphabet, length: run.count)
                    : .filled(beforeColon ? .uppercase : alphabet.ofFiller, length: run.count))
            end = run.upperBound
        }
        parts += units[end...].map { .separator($0) }
    }

    /// The parts of a UUID (RFC 9562, section 4), which are the same for each one: a group of it may by chance consist of digits
    /// alone, or of letters alone.
    private static func partsOfUUID(_ units: [UInt8]) -> [Part]? {
        let groups = units.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12],
            groups.joined().allSatisfy({ $0.isDigit || (0x61...0x66).contains($0 | 0x20) })
        else { return nil }
        let isUpper = units.contains(where: \.isUppercase) && !units.contains(where: \.isLowercase)
        let alphabet: PseudonymAlphabet = isUpper ? .uppercaseHex : .lowercaseHex
        return groups.dropLast().flatMap { group in
            [.filled(alphabet, length: group.count), .separator(UInt8(ascii: "-"))]
        } + [.numbered(alphabet, length: 12)]
    }

    /// The pseudonym with a number.
    func text(number: Int) -> [UInt8] {
        parts.flatMap { part -> [UInt8] in
            switch part {
            case .separator(let byte): [byte]
            case .filled(let alphabet, let length): alphabet.filler(length)
            case .numbered(let alphabet, let length): alphabet.text(number: number, length: length)
            }
        }
    }

    /// The number of a pseudonym; nil if the text is none.
    static func number(of text: [UInt8], isNumber: Bool = false) -> Int? {
        pseudonym(text, isNumber: isNumber)?.number
    }

    /// Whether a text is a pseudonym whose mark no secret has by chance.
    static func isMarked(_ text: [UInt8], isNumber: Bool = false) -> Bool {
        pseudonym(text, isNumber: isNumber)?.isMarked ?? false
    }

    private static func pseudonym(_ text: [UInt8], isNumber: Bool) -> (number: Int, isMarked: Bool)? {
        guard !text.isEmpty else { return nil }
        let form = isNumber ? PseudonymForm(ofNumber: text) : PseudonymForm(of: text)
        var start = 0
        for part in form.parts {
            switch part {
            case .separator: start += 1
            case .filled(_, let length): start += length
            case .numbered(let alphabet, let length):
                let digits = text[start..<start + length]
                let number = alphabet.numbers(of: digits).first { form.text(number: $0) == text }
                return number.map { ($0, alphabet.isMarked(digits)) }
            }
        }
        return nil
    }

    private static func separates(_ unit: UInt8, isNumber: Bool) -> Bool {
        isNumber ? !unit.isDigit : "-_.:=@".utf8.contains(unit)
    }

    /// The characters of a secret: those that are neither letters, digits nor separators become `NUL`.
    private static func units(of secret: [UInt8]) -> [UInt8] {
        var units: [UInt8] = []
        units.reserveCapacity(secret.count)
        let isAddress = isMailAddress(secret)
        let padding = secret.lastIndex { $0 != UInt8(ascii: "=") }.map { $0 + 1 } ?? 0
        for (index, byte) in secret.enumerated() {
            switch byte {
            case 0x80..<0xC0: continue
            case UInt8(ascii: "="): units.append(index < padding || secret.count - padding > 2 ? 0 : byte)
            // Only in an address of e-mail is it a part of the format; in a password it is one of the secret.
            case UInt8(ascii: "@"): units.append(isAddress ? byte : 0)
            case _ where byte.isLetterOrDigit || "-_.:".utf8.contains(byte): units.append(byte)
            default: units.append(0)
            }
        }
        for part in units.indices.split(whereSeparator: { ".:=@".utf8.contains(units[$0]) }) {
            hideRandomSeparators(in: &units, part.startIndex..<part.endIndex)
        }
        return units
    }

    /// Whether a secret is an address of e-mail, such as `ada@example.com`.
    private static func isMailAddress(_ secret: [UInt8]) -> Bool {
        let halves = secret.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard halves.count == 2, !halves[0].isEmpty else { return false }
        let labels = halves[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return halves[0].allSatisfy { $0.isLetterOrDigit || ".!#$%&'*+/=?^_`{|}~-".utf8.contains($0) }
            && labels.count > 1
            && labels.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") } }
    }

    /// Prefixes of tokens, whose separators stand at the same place in each secret.
    private static let prefixes: Set<String> = [
        "api", "dev", "github", "glpat", "ghp", "gho", "ghs", "key", "live", "pat", "pk", "prod", "rk", "sandbox",
        "secret", "shpat", "sk", "test", "tok", "token", "v1", "v2", "whsec", "xoxb", "xoxp",
    ]

    /// In Base64 for URLs, `-` and `_` stand at random places, which differ in each secret.
    private static func hideRandomSeparators(in units: inout [UInt8], _ part: Range<Int>) {
        func isSeparator(_ index: Int) -> Bool {
            units[index] == UInt8(ascii: "-") || units[index] == UInt8(ascii: "_")
        }
        var start = part.lowerBound
        while let end = (start..<part.upperBound).first(where: isSeparator),
            prefixes.contains(String(decoding: units[start..<end], as: UTF8.self))
        {
            start = end + 1
        }
        let rest = start..<part.upperBound
        let isMixed = units[rest].contains(where: \.isLowercase) && units[rest].contains(where: \.isUppercase)
        guard isMixed else { return }
        for index in rest where isSeparator(index) { units[index] = 0 }
    }
}

extension UInt8 {
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isLowercase: Bool { (0x61...0x7A).contains(self) }
    var isUppercase: Bool { (0x41...0x5A).contains(self) }
    var isLetterOrDigit: Bool { isDigit || isLowercase || isUppercase }
}
