import Decorum
import Foundation

/// A text that stands for a secret in a cassette, such as `__token-3__`.
///
/// It counts the secrets of its kind, in characters that may stand anywhere. Where a parser may need the form of the secret,
/// the text keeps it: a JSON Web Token, padded Base64, a UUID, or a number, as in `Redacted1AAA==`. Cassettes of earlier versions
/// hold texts that keep the alphabet of the secret, such as `xq1aaa`, and names such as `__access-token-1__`; both are
/// recognized. A number of fewer than twelve digits, such as `1001`, has no mark and may as well be a secret.
package enum Pseudonym: Sendable {
    /// The text that replaces every pseudonym in comparisons.
    ///
    /// It has neither the form nor the number, since both differ between two runs.
    package static let erasedText = "__secret__"

    /// Whether bytes are exactly one pseudonym with a mark, which no secret equals by chance.
    package static func isPseudonym(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        guard !bytes.isEmpty else { return false }
        return PseudonymPlaces.all(in: bytes) == [bytes.indices] || TokenPseudonym.isPseudonym(bytes)
    }

    /// Replaces all pseudonyms by ``erasedText``, so that texts that differ only in pseudonyms become equal.
    ///
    /// A URL or a form is coded: its percent-encoded letters and digits mean the same as others (RFC 3986, section 6.2.2.2).
    package static func erased(in text: String, isCoded: Bool = false) -> String {
        // Every URL is searched when it is matched.
        var (window, letters): (UInt32, Int) = (0, 0)
        let isPlain = text.allUTF8 { byte in
            window = window << 8 | UInt32(byte)
            letters = byte.isInWord ? letters + 1 : 0
            return PseudonymPlaces.hintLength(window) == 0 && letters < EncodedWord.leastLength
                && !(isCoded && byte == UInt8(ascii: "%"))
        }
        guard !isPlain, let erased = erased(in: Array(text.utf8), isCoded: isCoded) else { return text }
        return String(decoding: erased, as: UTF8.self)
    }

    /// Replaces all pseudonyms by ``erasedText``; nil if the text has no pseudonym.
    ///
    /// Base64 of a text with a pseudonym is replaced as a whole, since its length depends on the secret.
    static func erased(in bytes: [UInt8], isCoded: Bool = false) -> [UInt8]? {
        let erased = Array(erasedText.utf8)
        let escapes = isCoded ? bytes.indices.filter { bytes[$0] == UInt8(ascii: "%") } : []
        let decoded = bytes.replacing(escapes.map { $0..<min($0 + 3, bytes.count) }) { escape in
            let byte = PercentEscapes.decode(bytes[escape])
            return byte.count == 1 && (byte[0].isInWord || byte[0] == UInt8(ascii: ".")) ? byte : nil
        }
        let text = decoded ?? bytes
        let plain = text.replacing(PseudonymPlaces.all(in: text)) { _ in erased }
        return EncodedWord.replacing(in: plain ?? text) { word in
            let isErased = word.text.firstRange(of: erased) != nil
            return isErased || !PseudonymPlaces.all(in: word.text).isEmpty ? erased : nil
        } ?? plain
    }
}

/// Finds the pseudonyms in a text by their marks, from the left.
struct PseudonymPlaces {
    /// The mark of a pseudonym that has the form of its secret, the characters of the number behind it, from that for zero, and
    /// the character that fills the rest.
    private struct Mark {
        let text: [UInt8]
        let numerals: [UInt8]
        let filler: UInt8

        var isLong: Bool { text.count > 4 }
    }

    /// The marks by their first byte, the longer mark first.
    private static let marks = Dictionary(
        grouping: [
            ("redacted", "xq", "0123456789a"), ("redacted", "xq", "bcdefghijka"), ("REDACTED", "XQ", "234567A"),
            ("REDACTED", "XQ", "BCDEFGHIJKA"), ("Redacted", "Xq", "0123456789A"), ("Redacted", "Xq", "bcdefghijkA"),
            ("dec0de", "dec0", "0123456789a"), ("DEC0DE", "DEC0", "0123456789A"),
        ].flatMap { long, short, characters in
            [long, short].map { mark in
                Mark(
                    text: Array(mark.utf8), numerals: Array(characters.utf8.dropLast()),
                    filler: characters.utf8.last ?? 0)
            }
        }, by: { $0.text[0] })
    private static let leastLength = 6
    private static let nameLimit = 32
    private static let digitLimit = 9

    private let bytes: [UInt8]

    /// The number of the last bytes of a window that are the start of a mark; 0 if no mark starts there.
    ///
    /// Each byte of each URL is looked at, and most texts have few of the last bytes of these starts.
    @inline(__always) static func hintLength(_ window: UInt32) -> Int {
        switch UInt8(truncatingIfNeeded: window) {
        case 0x5F, 0x71, 0x51:
            // `__`, `xq`, `Xq`, `XQ`
            switch window & 0xFFFF {
            case 0x5F5F, 0x7871, 0x5871, 0x5851: 2
            default: 0
            }
        case 0x64, 0x44, 0x63, 0x43, 0x31:
            // `red`, `Red`, `RED`, `dec`, `DEC`, `101`
            switch window & 0xFF_FFFF {
            case 0x72_6564, 0x52_6564, 0x52_4544, 0x64_6563, 0x44_4543, 0x31_3031: 3
            default: 0
            }
        default: 0
        }
    }

    static func all(in bytes: [UInt8]) -> [Range<Int>] {
        let places = PseudonymPlaces(bytes: bytes)
        var found: [Range<Int>] = []
        var (window, index): (UInt32, Int) = (0, 0)
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
        if bytes[index] == UInt8(ascii: "_") { return named(at: index) }
        if bytes[index] == UInt8(ascii: "1") { return digits(at: index) }
        for mark in Self.marks[bytes[index]] ?? [] where bytes[index...].starts(with: mark.text) {
            let rest = bytes[(index + mark.text.count)...]
            let numeral = rest.prefix(Self.digitLimit).prefix(while: mark.numerals.contains)
            guard let first = numeral.first, first != mark.numerals[0] else { continue }
            let filler = bytes[numeral.endIndex...].prefix { $0 == mark.filler }
            guard filler.endIndex - index >= Self.leastLength, !mark.isLong || filler.count >= 2,
                // A short mark also stands within words.
                mark.isLong || filler.endIndex == bytes.count || !bytes[filler.endIndex].isLetterOrDigit
            else { continue }
            return whole(index..<filler.endIndex)
        }
        return nil
    }

    private func digits(at index: Int) -> Range<Int>? {
        guard index == 0 || !bytes[index - 1].isDigit else { return nil }
        let digits = bytes[index...].prefix(40).prefix(while: \.isDigit)
        return PseudonymForm.isMarkedNumber(digits) ? whole(digits.indices) : nil
    }

    /// A pseudonym with a name, such as `__token-1__`.
    private func named(at start: Int) -> Range<Int>? {
        let name = bytes[(start + 2)...].prefix(Self.nameLimit + Self.digitLimit + 1).prefix {
            $0.isLowercase || $0.isDigit || $0 == UInt8(ascii: "-")
        }
        guard bytes[name.endIndex...].starts(with: "__".utf8), let hyphen = name.lastIndex(of: UInt8(ascii: "-")),
            hyphen > start + 2
        else { return nil }
        let digits = name[(hyphen + 1)...]
        guard (1...Self.digitLimit).contains(digits.count), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy(\.isDigit)
        else { return nil }
        return start..<name.endIndex + 2
    }

    /// The range with the parts before and after the one that has the mark.
    private func whole(_ main: Range<Int>) -> Range<Int> {
        var (start, end) = (main.lowerBound, main.upperBound)
        while let next = part(after: end) { end = next }
        while let previous = part(before: start) { start = previous }
        if let token = TokenPseudonym.start(in: bytes, beforeSignature: start) { start = token }
        for _ in 0..<2 {
            if let sign = ["=", "%3D", "%3d"].first(where: { bytes[end...].starts(with: $0.utf8) }) {
                end += sign.utf8.count
            }
        }
        return start..<end
    }

    private func part(after end: Int) -> Int? {
        let separator = separatorLength(bytes[end...].prefix(3))
        guard separator > 0 else { return nil }
        let part = bytes[(end + separator)...].prefix(while: \.isLetterOrDigit)
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
        return first == UInt8(ascii: "%") && ["%3A", "%3a", "%40"].contains { text.elementsEqual($0.utf8) } ? 3 : 0
    }
}

/// What a pseudonym keeps of its secret, because a parser may need it.
enum PseudonymForm: Hashable {
    case jsonWebToken
    /// A number, whose sign, point and exponent mark stay; each digit is a `1` here.
    case number([UInt8])
    case uuid(isUpper: Bool)
    case base64(letters: Int, padding: Int)
    /// A counter of its kind.
    case word(String)

    /// The length from which digits are recognized; fewer are not distinguished from a number of the API.
    private static let markedDigits = 12

    init(of secret: [UInt8], kind: String, isNumber: Bool = false) {
        let padding = secret.count - (secret.lastIndex { $0 != UInt8(ascii: "=") }.map { $0 + 1 } ?? 0)
        // A random secret without padding has a `+` or a `/` by chance, and two recordings of it would differ in form.
        let isPadded = (1...2).contains(padding) && secret.count.isMultiple(of: 4)
        if isNumber || secret.allSatisfy(\.isDigit) {
            self = .number(secret.map { $0.isDigit ? UInt8(ascii: "1") : $0 })
        } else if OpaqueText.isUUID(secret[...]) {
            self = .uuid(isUpper: !secret.contains(where: \.isLowercase))
        } else if isPadded, secret.count - padding >= 6, Base64Text.decode(secret[...]) != nil {
            self = .base64(letters: secret.count - padding, padding: padding)
        } else if TokenPseudonym.text(for: secret, number: 1) != nil {
            self = .jsonWebToken
        } else {
            self = .word(kind)
        }
    }

    /// The pseudonym with a number.
    func text(number: Int, for secret: [UInt8]) -> [UInt8] {
        switch self {
        case .jsonWebToken: return TokenPseudonym.text(for: secret, number: number) ?? []
        case .word(let kind): return Array("__\(kind)-\(number)__".utf8)
        case .uuid(let isUpper):
            let text = "aaaaaaaa-aaaa-aaaa-aaaa-" + Self.filled("dec0de\(number)", "a", 12)
            return Array((isUpper ? text.uppercased() : text).utf8)
        case .base64(let letters, let padding):
            return Array((Self.letters(number: number, length: letters) + String(repeating: "=", count: padding)).utf8)
        case .number(let layout):
            let runs = layout.indices.split(whereSeparator: { !layout[$0].isDigit })
                .map { $0.startIndex..<$0.endIndex }
            let longest = runs.max { $0.count < $1.count }
            return layout.replacing(runs) { run in
                Self.digits(number: run == longest ? number : 0, length: run.count)
            } ?? layout
        }
    }

    /// Letters of Base64 with the mark and a number.
    static func letters(number: Int, length: Int) -> String {
        filled("\(length >= 10 + String(number).count ? "Redacted" : "Xq")\(number)", "A", length)
    }

    private static func filled(_ text: String, _ filler: String, _ length: Int) -> String {
        text + String(repeating: filler, count: max(0, length - text.utf8.count))
    }

    /// The digits `10` repeated, with the number at the end.
    ///
    /// They are not above most numbers of that length, so that they fit into the same type of integer.
    private static func digits(number: Int, length: Int) -> [UInt8] {
        guard length > 1 else { return [UInt8(ascii: "0") + UInt8(number % 10)] }
        let least = length >= 8 ? 3 : length >= 6 ? 2 : length - 1
        let numeral = String(number).utf8.suffix(length - 1)
        let zeros = repeatElement(UInt8(ascii: "0"), count: max(0, least - numeral.count))
        return (0..<length - zeros.count - numeral.count).map { $0.isMultiple(of: 2) ? 0x31 : 0x30 } + zeros + numeral
    }

    /// Whether digits have the form of a pseudonym, which a short number may have too.
    static func isNumber(_ digits: ArraySlice<UInt8>) -> Bool {
        !digits.isEmpty && digits.allSatisfy(\.isDigit)
            && (1...4).contains { count in
                Int(String(decoding: digits.suffix(count), as: UTF8.self))
                    .map { Self.digits(number: $0, length: digits.count).elementsEqual(digits) } ?? false
            }
    }

    /// Whether digits are a pseudonym that no secret equals by chance.
    static func isMarkedNumber(_ digits: ArraySlice<UInt8>) -> Bool {
        digits.count >= markedDigits && isNumber(digits)
    }
}

/// The pseudonym of a JSON Web Token: it decodes, with the same names of claims.
///
/// Its JSON starts with blanks, so that it does not start with the `eyJ` by which scanners find tokens, and is longer
/// than the texts whose entropy they examine. The head and the claims by which a client accepts a token stay; times
/// become constants, and the token expires in the year 2100. All other claims get pseudonyms of their own.
enum TokenPseudonym {
    private static let keptClaims: Set<String> = [
        "aud", "azp", "client_id", "iss", "scope", "scopes", "scp", "token_type", "token_use", "typ", "ver",
    ]
    private static let times: Set<String> = ["auth_time", "iat", "nbf", "updated_at"]
    /// Scanners examine the entropy of texts up to 150 characters.
    private static let leastLength = 160

    /// The pseudonym of a token; nil if the text is something else.
    static func text(for secret: [UInt8], number: Int) -> [UInt8]? {
        guard var parts = parts(of: secret[...]), let head = object(in: parts[0]), head["alg"] != nil else {
            return nil
        }
        let claims = parts.count == 3 ? object(in: parts[1]) : nil
        for index in 1..<parts.count where !parts[index].isEmpty {
            parts[index] = Array(PseudonymForm.letters(number: number, length: parts[index].count).utf8)[...]
        }
        if let claims {
            var texts: [String: Int] = [:]
            parts[1] = encoded(masked(claims, number: number, knowing: &texts))[...]
        }
        let rest = parts.dropFirst().reduce(0) { $0 + $1.count + 1 }
        parts[0] = encoded(head, atLeast: leastLength - rest)[...]
        return Array(parts.joined(separator: [UInt8(ascii: ".")]))
    }

    /// Whether a text is a pseudonym of a token, by the blank with which its JSON starts.
    static func isPseudonym(_ text: [UInt8]) -> Bool {
        guard let parts = parts(of: text[...]), isHead(parts[0]) else { return false }
        return parts.count > 3 || parts[1].isEmpty || parts[1].first == UInt8(ascii: "I")
    }

    /// The start of a token whose signature has a mark at an index; nil if the text before it is something else.
    static func start(in text: [UInt8], beforeSignature index: Int) -> Int? {
        var (end, count) = (index, 0)
        while count < 4, end > 0, text[end - 1] == UInt8(ascii: ".") {
            let length = text[..<(end - 1)].reversed().prefix(while: \.isInWord).count
            end -= length + 1
            count += 1
            if count > 1, length > 0, isHead(text[end..<end + length]) { return end }
        }
        return nil
    }

    private static func isHead(_ part: ArraySlice<UInt8>) -> Bool {
        (part.starts(with: "IH".utf8) || part.starts(with: "IC".utf8)) && object(in: part)?["alg"] != nil
    }

    private static func parts(of token: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 5, !parts[0].isEmpty else { return nil }
        return parts.allSatisfy { $0.allSatisfy(\.isInWord) } ? parts : nil
    }

    private static func object(in part: ArraySlice<UInt8>) -> JSONValue? {
        guard let bytes = Base64Text.decode(part), let value = try? JSONValue(parsing: bytes), value.members != nil
        else { return nil }
        return value
    }

    /// JSON in Base64 for URLs, with enough blanks before it that no part of it looks like the start of a token.
    private static func encoded(_ value: JSONValue, atLeast length: Int = 0) -> [UInt8] {
        let json = value.document()
        var blanks = max(1, length * 3 / 4 - json.count)
        var text = ""
        for _ in 0..<3 {
            text = Data(Array(repeating: 0x20, count: blanks) + json).base64EncodedString()
            if !text.contains("eyJ") { break }
            blanks += 1
        }
        return Array(text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "").utf8)
    }

    /// Equal texts get equal pseudonyms, and others get others, so that a client can tell claims apart.
    private static func masked(
        _ value: JSONValue, named name: String = "", number: Int, knowing texts: inout [String: Int]
    ) -> JSONValue {
        func pseudonym(of text: String, isNumber: Bool = false) -> String {
            let index = texts[text] ?? texts.count + 1
            texts[text] = index
            let form = PseudonymForm(of: Array(text.utf8), kind: "claim-\(index)", isNumber: isNumber)
            return String(decoding: form.text(number: number, for: Array(text.utf8)), as: UTF8.self)
        }
        switch value {
        case _ where keptClaims.contains(name): return value
        case _ where name == "exp": return .number("4102444800")
        case _ where times.contains(name): return .number("1000000000")
        case .string(let text): return .string(pseudonym(of: text))
        case .number(let digits) where digits.utf8.count(where: \.isDigit) >= 6:
            return .number(pseudonym(of: digits, isNumber: true))
        case .array(let elements): return .array(elements.map { masked($0, number: number, knowing: &texts) })
        case .object(let members):
            return .object(
                members.map { .init($0.name, masked($0.value, named: $0.name, number: number, knowing: &texts)) })
        default: return value
        }
    }
}
