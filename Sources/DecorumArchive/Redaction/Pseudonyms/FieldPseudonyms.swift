import Decorum
import HTTPTypes

extension Redaction {
    private static let credentialFields: Set<String> = [
        "authorization", "proxy-authorization", "x-forwarded-authorization", "x-original-authorization",
    ]

    /// Gives the secrets in a secret field their pseudonyms, by the structure of the field.
    func named(inSecretField field: HTTPField, _ pseudonyms: Pseudonyms) -> String {
        let value = Array(field.value.utf8)
        let named: [UInt8]
        switch field.name {
        case .cookie:
            named = Array(
                value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                    .map { self.named(inCookie: $0, pseudonyms) }.joined(separator: [UInt8(ascii: ";")]))
        case .setCookie:
            named = Array(
                SetCookieSplitting.split(field.value)
                    .map { self.named(inSetCookie: Array($0.utf8), pseudonyms) }.joined(separator: ", ".utf8))
        default:
            let isCredentials = Self.credentialFields.contains(field.name.canonicalName)
            let scheme =
                isCredentials
                ? AuthorizationScheme.lengthInField(value[...]) : AuthorizationScheme.length(in: value[...])
            named =
                value.prefix(scheme)
                + self.named(value.dropFirst(scheme), name: field.name.canonicalName.utf8, pseudonyms)
        }
        return String(decoding: named, as: UTF8.self)
    }

    private func named(inSetCookie cookie: [UInt8], _ pseudonyms: Pseudonyms) -> [UInt8] {
        let end = cookie.firstIndex(of: UInt8(ascii: ";")) ?? cookie.endIndex
        return named(inCookie: cookie[..<end], pseudonyms) + cookie[end...]
    }

    /// Gives the value in a pair of a cookie's name and value its pseudonym; the blanks and quotes around it stay.
    private func named(inCookie pair: ArraySlice<UInt8>, _ pseudonyms: Pseudonyms) -> [UInt8] {
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        let name = equals.map { pair[..<$0] } ?? Array("cookie".utf8)[...]
        var value = equals.map { pair[($0 + 1)...] } ?? pair
        while value.first == 0x20 { value.removeFirst() }
        while value.last == 0x20 { value.removeLast() }
        if value.count > 1, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") {
            value = value.dropFirst().dropLast()
        }
        return pair[..<value.startIndex] + named(value, name: name, decoding: true, pseudonyms)
            + pair[value.endIndex...]
    }

    private func named(
        _ value: ArraySlice<UInt8>, name: some Sequence<UInt8>, decoding: Bool = false, _ pseudonyms: Pseudonyms
    ) -> [UInt8] {
        let secret = decoding ? PercentCoding.decode(value, plusIsBlank: false) : Array(value)
        return pseudonym(of: secret, named: name, in: pseudonyms) ?? Array(value)
    }
}

/// The word before credentials that says what kind they are (RFC 9110, section 11.4), which is no secret.
enum AuthorizationScheme {
    /// The schemes that are also found outside a field, such as in JSON.
    private static let known = ["bearer", "basic", "token", "dpop"]

    /// The bytes of one of the usual schemes and the blank behind it, which may be encoded; zero without a scheme.
    static func length(in value: ArraySlice<UInt8>) -> Int {
        let word = value.prefix { isLetter($0) }
        guard (4...6).contains(word.count),
            known.contains(where: { $0.utf8.elementsEqual(word.lazy.map { $0 | 0x20 }) })
        else { return 0 }
        let rest = value[word.endIndex...]
        let blanks = rest.prefix { $0 == 0x20 || $0 == UInt8(ascii: "+") }.count
        let length = word.count + (blanks == 0 && rest.starts(with: "%20".utf8) ? 3 : blanks)
        return length > word.count && length < value.count ? length : 0
    }

    /// The bytes of any scheme in a field of credentials and the blanks behind it; zero without a scheme.
    static func lengthInField(_ value: ArraySlice<UInt8>) -> Int {
        let word = value.prefix { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
        // Longer than any registered scheme, a first word is more likely a part of a secret.
        guard let first = word.first, isLetter(first), word.count <= 24 else { return 0 }
        let blanks = value[word.endIndex...].prefix { $0 == 0x20 || $0 == 0x09 }.count
        let length = word.count + blanks
        return blanks > 0 && length < value.count ? length : 0
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
