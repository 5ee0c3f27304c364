import Decorum
import Foundation
import Synchronization

/// A text that stands for a secret in a cassette, such as `__token-3__`.
///
/// It counts the secrets of its kind, in characters that may stand anywhere. Where a parser may need the form of the secret,
/// the text keeps it: a JSON Web Token, padded Base64, a UUID, or a number, as in `Redacted1AAA==`. Cassettes of earlier versions
/// hold texts that keep the alphabet of the secret, such as `xq1aaa`, and names such as `__access-token-1__`; both are
/// recognized. A number of fewer than twelve digits, such as `1001`, has no mark and may as well be a secret.
package struct Pseudonym {
    /// The text that replaces every pseudonym in comparisons: form and number differ between two runs.
    package static let erasedText = "__secret__"

    /// The marks of pseudonyms that have the form of their secrets, long and short, with the characters of the number behind
    /// it, from that for zero, and the character that fills the rest.
    private static let marks = [
        ("redacted", "xq", "0123456789", 0x61), ("redacted", "xq", "bcdefghijk", 0x61),
        ("REDACTED", "XQ", "234567", 0x41), ("REDACTED", "XQ", "BCDEFGHIJK", 0x41),
        ("Redacted", "Xq", "0123456789", 0x41), ("Redacted", "Xq", "bcdefghijk", 0x41),
        ("dec0de", "dec0", "0123456789", 0x61), ("DEC0DE", "DEC0", "0123456789", 0x41),
    ].flatMap { long, short, numerals, filler in
        [long, short].map { (text: Array($0.utf8), numerals: Array(numerals.utf8), filler: UInt8(filler)) }
    }

    private let bytes: [UInt8]

    /// Whether bytes are exactly one pseudonym with a mark, which no secret equals by chance.
    package static func isPseudonym(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        return !bytes.isEmpty && (places(in: bytes) == [bytes.indices] || TokenPseudonym.isPseudonym(bytes))
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
            let isEscape = isCoded && byte == UInt8(ascii: "%")
            return hintLength(window) == 0 && letters < EncodedWord.leastLength && !isEscape
        }
        guard !isPlain, let erased = erased(in: Array(text.utf8), isCoded: isCoded) else { return text }
        return String(decoding: erased, as: UTF8.self)
    }

    /// The same for bytes, where Base64 with a pseudonym is replaced as a whole; nil if the text has none.
    static func erased(in bytes: [UInt8], isCoded: Bool = false) -> [UInt8]? {
        let erased = Array(erasedText.utf8)
        let escapes = isCoded ? bytes.indices.filter { bytes[$0] == UInt8(ascii: "%") } : []
        let decoded = bytes.replacing(escapes.map { $0..<min($0 + 3, bytes.count) }) { escape in
            let byte = PercentEscapes.decode(bytes[escape])
            return byte.count == 1 && (byte[0].isInWord || byte[0] == UInt8(ascii: ".")) ? byte : nil
        }
        let text = decoded ?? bytes
        let plain = text.replacing(places(in: text)) { _ in erased }
        return EncodedWord.replacing(in: plain ?? text) { word in
            word.text.firstRange(of: erased) != nil || !places(in: word.text).isEmpty ? erased : nil
        } ?? plain
    }

    /// The places of the pseudonyms in a text, found by their marks, from the left.
    static func places(in bytes: [UInt8]) -> [Range<Int>] {
        let search = Pseudonym(bytes: bytes)
        var found: [Range<Int>] = []
        var (window, index): (UInt32, Int) = (0, 0)
        while index < bytes.count {
            window = window << 8 | UInt32(bytes[index])
            index += 1
            let length = hintLength(window)
            guard length > 0, let range = search.pseudonym(at: index - length) else { continue }
            found.append(max(range.lowerBound, found.last?.upperBound ?? 0)..<range.upperBound)
            (index, window) = (range.upperBound, 0)
        }
        return found
    }

    /// The number of the last bytes of a window with which a mark starts; 0 for most bytes of URLs.
    @inline(__always) private static func hintLength(_ window: UInt32) -> Int {
        switch window & 0xFFFF {
        // `__`, `xq`, `Xq`, `XQ`
        case 0x5F5F, 0x7871, 0x5871, 0x5851: 2
        // `red`, `Red`, `RED`, `dec`, `DEC`, `101`
        case 0x6564, 0x4544, 0x6563, 0x4543, 0x3031:
            [0x72_6564, 0x52_6564, 0x52_4544, 0x64_6563, 0x44_4543, 0x31_3031].contains(window & 0xFF_FFFF) ? 3 : 0
        default: 0
        }
    }

    private func pseudonym(at index: Int) -> Range<Int>? {
        if bytes[index] == UInt8(ascii: "_") { return named(at: index) }
        if bytes[index] == UInt8(ascii: "1") {
            guard index == 0 || !bytes[index - 1].isDigit else { return nil }
            let digits = bytes[index...].prefix(40).prefix(while: \.isDigit)
            return PseudonymForm.isMarkedNumber(digits) ? whole(digits.indices) : nil
        }
        for mark in Self.marks where bytes[index...].starts(with: mark.text) {
            let rest = bytes[(index + mark.text.count)...]
            let numeral = rest.prefix(9).prefix(while: mark.numerals.contains)
            guard let first = numeral.first, first != mark.numerals[0] else { continue }
            let filler = bytes[numeral.endIndex...].prefix { $0 == mark.filler }
            let isLong = mark.text.count > 4
            guard filler.endIndex - index >= 6, !isLong || filler.count >= 2,
                // A short mark also stands within words.
                isLong || filler.endIndex == bytes.count || !bytes[filler.endIndex].isLetterOrDigit
            else { continue }
            return whole(index..<filler.endIndex)
        }
        return nil
    }

    private func named(at start: Int) -> Range<Int>? {
        let name = bytes[(start + 2)...].prefix(42).prefix { $0.isLowercase || $0.isDigit || $0 == UInt8(ascii: "-") }
        guard bytes[name.endIndex...].starts(with: "__".utf8), let hyphen = name.lastIndex(of: UInt8(ascii: "-")),
            hyphen > start + 2, case let digits = name[(hyphen + 1)...], (1...9).contains(digits.count),
            digits.first != UInt8(ascii: "0"), digits.allSatisfy(\.isDigit)
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
        let separator = isEncoded ? 3 : min(1, separatorLength(bytes[..<start].suffix(1)))
        guard separator > 0, case let end = start - separator,
            case let part = bytes[..<end].reversed().prefix(while: \.isLetterOrDigit).count, part > 0
        else { return nil }
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
private struct PseudonymForm {
    /// The name of the form, whose pseudonyms are counted together.
    let name: String
    let text: (_ number: Int) -> [UInt8]

    init(of secret: [UInt8], kind: String, isNumber: Bool = false) {
        let padding = secret.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        // A random secret without padding has a `+` or a `/` by chance, and two recordings of it would differ in form.
        let isPadded = (1...2).contains(padding) && secret.count.isMultiple(of: 4)
        if isNumber || secret.allSatisfy(\.isDigit) {
            name = String(decoding: secret.map { $0.isDigit ? UInt8(ascii: "1") : $0 }, as: UTF8.self)
            let runs = secret.indices.split { !secret[$0].isDigit }.map { $0.startIndex..<$0.endIndex }
            let longest = runs.max { $0.count < $1.count }
            // The sign, the point and the exponent mark stay.
            text = { number in
                secret.replacing(runs) { Self.digits(number: $0 == longest ? number : 0, length: $0.count) } ?? secret
            }
        } else if OpaqueText.isUUID(secret[...]) {
            let isUpper = !secret.contains(where: \.isLowercase)
            name = isUpper ? "UUID" : "uuid"
            text = { number in
                let text = "aaaaaaaa-aaaa-aaaa-aaaa-" + Self.filled("dec0de\(number)", "a", 12)
                return Array((isUpper ? text.uppercased() : text).utf8)
            }
        } else if isPadded, secret.count - padding >= 6, Base64Text.decode(secret[...]) != nil {
            name = "Base64 \(secret.count) \(padding)"
            text = { Self.letters(number: $0, length: secret.count - padding) + secret.suffix(padding) }
        } else if TokenPseudonym.text(for: secret, number: 1) != nil {
            name = "JWT"
            text = { TokenPseudonym.text(for: secret, number: $0) ?? [] }
        } else {
            name = "__\(kind)__"
            text = { Array("__\(kind)-\($0)__".utf8) }
        }
    }

    static func letters(number: Int, length: Int) -> [UInt8] {
        Array(filled("\(length >= 10 + String(number).count ? "Redacted" : "Xq")\(number)", "A", length).utf8)
    }

    private static func filled(_ text: String, _ filler: String, _ length: Int) -> String {
        text + String(repeating: filler, count: max(0, length - text.utf8.count))
    }

    /// The digits `10` repeated, with the number at the end, so that they fit into the same type of integer.
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

    /// Whether digits are a pseudonym that no secret equals by chance; fewer than twelve may be a number of the API.
    static func isMarkedNumber(_ digits: ArraySlice<UInt8>) -> Bool { digits.count >= 12 && isNumber(digits) }
}

/// The pseudonym of a JSON Web Token: it decodes, with the same names of claims.
///
/// Its JSON starts with blanks, so that it does not start with the `eyJ` by which scanners find tokens. The head and the
/// claims by which a client accepts a token stay; the token expires in the year 2100. Other claims get pseudonyms.
private enum TokenPseudonym {
    private static let keptClaims: Set<String> = [
        "aud", "azp", "client_id", "iss", "scope", "scopes", "scp", "token_type", "token_use", "typ", "ver",
    ]
    private static let times: Set<String> = ["auth_time", "iat", "nbf", "updated_at"]

    static func text(for secret: [UInt8], number: Int) -> [UInt8]? {
        guard var parts = parts(of: secret), let head = object(in: parts[0]), head["alg"] != nil else { return nil }
        let claims = parts.count == 3 ? object(in: parts[1]) : nil
        for index in 1..<parts.count where !parts[index].isEmpty {
            parts[index] = PseudonymForm.letters(number: number, length: parts[index].count)[...]
        }
        if let claims {
            var texts: [String: Int] = [:]
            parts[1] = encoded(masked(claims, number: number, knowing: &texts))[...]
        }
        let rest = parts.dropFirst().reduce(0) { $0 + $1.count + 1 }
        // Scanners examine the entropy of texts up to 150 characters.
        parts[0] = encoded(head, atLeast: 160 - rest)[...]
        return Array(parts.joined(separator: [UInt8(ascii: ".")]))
    }

    /// Whether a text is a pseudonym of a token, by the blank with which its JSON starts.
    static func isPseudonym(_ text: [UInt8]) -> Bool {
        guard let parts = parts(of: text), isHead(parts[0]) else { return false }
        return parts.count > 3 || parts[1].isEmpty || parts[1].first == UInt8(ascii: "I")
    }

    /// The start of a token whose signature has a mark at an index; nil if the text before it is something else.
    static func start(in text: [UInt8], beforeSignature index: Int) -> Int? {
        var end = index
        for count in 1...4 where end > 0 && text[end - 1] == UInt8(ascii: ".") {
            let length = text[..<(end - 1)].reversed().prefix(while: \.isInWord).count
            end -= length + 1
            if count > 1, length > 0, isHead(text[end..<end + length]) { return end }
        }
        return nil
    }

    private static func isHead(_ part: ArraySlice<UInt8>) -> Bool {
        (part.starts(with: "IH".utf8) || part.starts(with: "IC".utf8)) && object(in: part)?["alg"] != nil
    }

    private static func parts(of token: [UInt8]) -> [ArraySlice<UInt8>]? {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isToken = (parts.count == 3 || parts.count == 5) && !parts[0].isEmpty
        return isToken && parts.allSatisfy { $0.allSatisfy(\.isInWord) } ? parts : nil
    }

    private static func object(in part: ArraySlice<UInt8>) -> JSONValue? {
        let value = Base64Text.decode(part).flatMap { try? JSONValue(parsing: $0) }
        return value?.members == nil ? nil : value
    }

    /// JSON in Base64 for URLs, with enough blanks before it that no part of it looks like the start of a token.
    private static func encoded(_ value: JSONValue, atLeast length: Int = 0) -> [UInt8] {
        let json = value.document()
        let blanks = max(1, length * 3 / 4 - json.count)
        let texts = (blanks..<blanks + 3).lazy.map {
            Data(Array(repeating: 0x20, count: $0) + json).base64EncodedString()
        }
        let text = texts.first { !$0.contains("eyJ") } ?? texts[blanks + 2]
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
            return String(decoding: form.text(number), as: UTF8.self)
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

/// A secret that a name marks.
package struct NamedSecret: Sendable {
    /// The kind of a place, by which a rule can leave the secret.
    package enum Place: Sendable, Hashable {
        case field, cookie, userinfo, path
        /// An item of a URL or a form, or a part of a multipart form.
        case item
        /// A value of JSON, with the pattern of its path if that is known.
        case json(pattern: String?)
        /// An element or an attribute, a line of text or a column.
        case text
    }

    package let bytes: [UInt8]
    /// The name of its place, such as `access_token`.
    package let name: [UInt8]
    package let place: Place
    /// Whether it is a number of JSON.
    package let isNumber: Bool

    init(_ bytes: [UInt8], named name: some Sequence<UInt8>, at place: Place, isNumber: Bool = false) {
        (self.bytes, self.name, self.place, self.isNumber) = (bytes, Array(name), place, isNumber)
    }

    /// Whether the value is no secret, but a word that the API uses or a number that only counts something.
    fileprivate var isHarmless: Bool {
        if isNumber {
            // A PIN, and the number that proves that a person has a card, are short.
            let isShort = bytes.count(where: \.isDigit) < (PlainWord.isChosen(name) ? 3 : 6)
            return isShort || bytes.first.map { !$0.isDigit && $0 != UInt8(ascii: "-") } ?? true
        }
        switch place {
        // The whole value of a listed field is a credential.
        case .field, .userinfo, .path: return false
        case .cookie, .item, .json, .text: return !PlainWord.isChosen(name) && PlainWord.isPlain(bytes)
        }
    }

    /// Whether the value is a placeholder whose mark no secret has by chance.
    var isMarkedPlaceholder: Bool {
        guard isNumber else { return Pseudonym.isPseudonym(bytes) }
        return bytes.split { !$0.isDigit }.contains(where: PseudonymForm.isMarkedNumber)
    }

    fileprivate var kind: String {
        let name = String(decoding: name, as: UTF8.self).lowercased()
        return switch place {
        case .cookie: "cookie"
        case .userinfo: "credentials"
        case .path: "path"
        case .field, .item, .json, .text: Self.kinds.first { name.contains($0.part) }?.kind ?? "secret"
        }
    }

    private static let kinds = [
        ("pass", "password"), ("pw", "password"), ("token", "token"), ("jwt", "token"), ("session", "session"),
        ("cookie", "cookie"), ("key", "key"), ("sig", "signature"), ("code", "code"), ("otp", "code"), ("pin", "code"),
        ("auth", "credentials"), ("credential", "credentials"),
    ].map { (part: $0, kind: $1) }
}

/// The texts in place of the secrets that ``SecretRewriting`` finds.
package final class Pseudonyms: Sendable {
    package enum Purpose: Sendable {
        /// A file: each secret gets a pseudonym, the same in each place, encoded or not.
        case recording
        /// Comparing requests: every secret becomes the same text. `?code=de` and `?code=fr` stay two requests.
        case matching
        /// A message about a file: the same, but the placeholders of the file stay.
        case showing
        /// A list of the secrets, without the words under their names; nothing is replaced.
        case noting
    }

    private struct State {
        /// The texts by their secrets; a short one is another secret under another name.
        var texts: [[[UInt8]]: [UInt8]] = [:]
        var numbers: [String: Int] = [:]
        /// The texts that are not assigned again: pseudonyms, and all secrets of the recording.
        var taken: Set<[UInt8]> = []
        /// The texts whose pseudonyms are not in `taken` yet.
        var reserved: [[UInt8]] = []
        /// The secrets that are replaced in any place.
        var known = KnownSecrets()
        /// The values that the rules have left.
        var left: Set<[UInt8]> = []
        var noted: [NamedSecret] = []
        /// The values that were replaced, in the order in which they were found.
        var list: [SecretReplacement] = []
        /// The index in the list of each text that is assigned.
        var places: [[UInt8]: Int] = [:]
    }

    private static let erased = Array(Pseudonym.erasedText.utf8)

    private let purpose: Purpose
    private let state = Mutex(State())

    package init(for purpose: Purpose = .recording) { self.purpose = purpose }

    var known: KnownSecrets { state.withLock { $0.known } }
    var left: Set<[UInt8]> { state.withLock { $0.left } }
    var noted: [NamedSecret] { state.withLock { $0.noted } }
    package var list: [SecretReplacement] { state.withLock { $0.list } }

    var readsPaths: Bool { purpose == .recording }

    /// The text in place of a secret, without the encoding of the place; nil for a secret that stays.
    func replacement(of secret: NamedSecret) -> [UInt8]? {
        guard !secret.isHarmless else { return nil }
        switch purpose {
        case .noting:
            state.withLock { $0.noted.append(secret) }
            return nil
        case .recording: return pseudonym(of: secret)
        case .matching, .showing:
            guard secret.bytes != Self.erased,
                purpose == .matching || !secret.isMarkedPlaceholder && !PseudonymForm.isNumber(secret.bytes[...])
            else { return nil }
            if secret.isNumber { return [UInt8(ascii: "0")] }
            state.withLock { $0.known.insert(secret.bytes, replacedBy: Self.erased) }
            return Self.erased
        }
    }

    private func pseudonym(of secret: NamedSecret) -> [UInt8]? {
        let isMarked = secret.isMarkedPlaceholder
        return state.withLock { state in
            if isMarked { state.taken.insert(secret.bytes) }
            // No secret of the recording has the text of a pseudonym, since those are avoided.
            if isMarked || state.places[secret.bytes] != nil { return nil }
            // Fewer bytes are equal by chance.
            let key = secret.bytes.count < 6 ? [secret.bytes, secret.name] : [secret.bytes]
            let text = state.texts[key] ?? Self.newText(for: secret, in: &state)
            state.texts[key] = text
            if let index = state.places[text] {
                state.list[index].count += 1
            } else {
                state.places[text] = state.list.count
                state.list.append(SecretReplacement(secret, text))
            }
            return text
        }
    }

    private static func newText(for secret: NamedSecret, in state: inout State) -> [UInt8] {
        for text in state.reserved { state.taken.formUnion(Pseudonym.places(in: text).map { Array(text[$0]) }) }
        state.reserved = []
        let form = PseudonymForm(of: secret.bytes, kind: secret.kind, isNumber: secret.isNumber)
        var (text, number) = (secret.bytes, state.numbers[form.name] ?? 0)
        repeat {
            number += 1
            text = form.text(number)
        } while (text == secret.bytes || state.taken.contains(text)) && number <= state.taken.count + 1
        state.numbers[form.name] = number
        state.taken.insert(text)
        if !secret.isNumber { state.known.insert(secret.bytes, replacedBy: text) }
        return text
    }

    func leave(_ secret: NamedSecret) {
        guard purpose == .recording else { return }
        state.withLock { state in
            state.left.insert(secret.bytes)
            guard secret.place == .userinfo, let colon = secret.bytes.firstIndex(of: UInt8(ascii: ":")) else { return }
            // The search before a file is written finds the password alone.
            state.left.insert(Array(secret.bytes[(colon + 1)...]))
        }
    }

    /// Reserves the pseudonyms in a cassette to be continued, which is searched when the first secret gets a pseudonym.
    package func reserve(in text: [UInt8]) { state.withLock { $0.reserved.append(text) } }
    /// Reserves all secrets of a recording, so that none of them is taken for a pseudonym.
    func avoid(_ secrets: [NamedSecret]) { state.withLock { $0.taken.formUnion(secrets.map(\.bytes)) } }
}

/// Words and other texts of an API's language, which no service issues as a secret, as in `{"token": " Hello"}`.
///
/// People choose words as passwords, so a word under the name of a password is secret.
enum PlainWord {
    /// Parts of names of secrets that people choose, or that are as short.
    private static let chosen = ["pass", "pw", "kennwort", "pin", "otp", "secret", "answer", "phrase", "cvc", "cvv"]

    static func isChosen(_ name: [UInt8]) -> Bool {
        let name = String(decoding: name, as: UTF8.self).lowercased()
        return chosen.contains(where: name.contains)
    }

    static func isPlain(_ value: [UInt8]) -> Bool {
        var text = String(decoding: value, as: UTF8.self)[...]
        for mark in ["##", "Ġ", "▁", "Ċ", "'"] where text.hasPrefix(mark) { text = text.dropFirst(mark.count) }
        let bytes = text.utf8.drop { $0 <= 0x20 }
        // A token of a language model may be a mark, or a part of a word in another script.
        guard bytes.contains(where: \.isLetterOrDigit) else { return true }
        // A control token such as `<|im_end|>` or `[CLS]`.
        let isEnclosed = bytes.first == 0x3C && bytes.last == 0x3E || bytes.first == 0x5B && bytes.last == 0x5D
        if isEnclosed, bytes.count <= 24 { return true }
        guard bytes.count <= 192 else { return false }
        let words = bytes.split { !$0.isLetterOrDigit && $0 < 0x80 }
        let others = bytes.filter { !$0.isLetterOrDigit && $0 < 0x80 }
        // Between the words of a sentence or an identifier stand few other characters.
        let isProse = others.count <= 2 * words.count && others.allSatisfy { " -_.,:;!?'/()\n".utf8.contains($0) }
        // An identifier has few words, and a passphrase has more.
        return words.count <= 16 && (words.count < 2 || isProse)
            && (words.count <= 3 || bytes.contains(0x20)) && words.allSatisfy { isWord(Array($0)) }
    }

    private static func isWord(_ word: [UInt8]) -> Bool {
        if word.allSatisfy(\.isDigit) { return word.count <= 3 }
        let isCased = !word.dropFirst().contains(where: \.isUppercase) || !word.contains(where: \.isLowercase)
        return word.count <= 12 && !word.contains(where: \.isDigit) && isCased
            && (word.count <= 7 || isPronounceable(word))
    }

    /// Long random letters have few vowels, or many consonants in sequence.
    private static func isPronounceable(_ word: [UInt8]) -> Bool {
        var (consonants, vowels) = (0, 0)
        for byte in word {
            if "aeiouy".utf8.contains(byte | 0x20) || byte >= 0x80 {
                (consonants, vowels) = (0, vowels + 1)
            } else {
                consonants += 1
                if consonants > 4 { return false }
            }
        }
        return vowels * 4 >= word.count && vowels * 3 <= word.count * 2
    }
}
