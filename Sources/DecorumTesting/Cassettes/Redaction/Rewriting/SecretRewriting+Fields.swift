import Decorum
import HTTPTypes

extension SecretRewriting {
    private static let credentialFields: Set<String> = [
        "authorization", "proxy-authorization", "x-forwarded-authorization", "x-original-authorization",
    ]

    /// Replaces the secrets in a secret field by the structure of the field.
    func rewritten(inSecretField field: HTTPField) -> String {
        guard !allowed.contains(field.name) else {
            let value = Array(field.value.utf8)
            for part in [value[...], value.dropFirst(AuthorizationScheme.lengthInField(value[...]))] {
                strategy.leave(NamedSecret(Array(part), named: field.name.canonicalName.utf8, at: .field))
            }
            return field.value
        }
        let value = Array(field.value.utf8)
        let rewritten: [UInt8]
        switch field.name {
        case .cookie:
            rewritten = Array(
                value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                    .map { self.rewritten(cookie: $0) }.joined(separator: [UInt8(ascii: ";")]))
        case .setCookie:
            rewritten = Array(
                SetCookieSplitting.split(field.value)
                    .map { self.rewritten(setCookie: Array($0.utf8)) }.joined(separator: ", ".utf8))
        default:
            let isCredentials = Self.credentialFields.contains(field.name.canonicalName)
            let scheme =
                isCredentials
                ? AuthorizationScheme.lengthInField(value[...]) : AuthorizationScheme.length(in: value[...])
            rewritten =
                value.prefix(scheme)
                + self.rewritten(value.dropFirst(scheme), name: field.name.canonicalName.utf8, at: .field)
        }
        return String(decoding: rewritten, as: UTF8.self)
    }

    private func rewritten(setCookie cookie: [UInt8]) -> [UInt8] {
        let end = cookie.firstIndex(of: UInt8(ascii: ";")) ?? cookie.endIndex
        return rewritten(cookie: cookie[..<end]) + cookie[end...]
    }

    /// Replaces the value of a cookie pair; the blanks and quotes around it stay.
    private func rewritten(cookie pair: ArraySlice<UInt8>) -> [UInt8] {
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        let name: ArraySlice<UInt8> =
            if let equals { pair[..<equals].drop { $0 == 0x20 } } else { Array("cookie".utf8)[...] }
        var value = equals.map { pair[($0 + 1)...] } ?? pair
        while value.first == 0x20 { value.removeFirst() }
        while value.last == 0x20 { value.removeLast() }
        if value.count > 1, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") {
            value = value.dropFirst().dropLast()
        }
        return pair[..<value.startIndex] + rewritten(value, name: name, at: .cookie)
            + pair[value.endIndex...]
    }

    private func rewritten(
        _ value: ArraySlice<UInt8>, name: some Sequence<UInt8>, at place: NamedSecret.Place
    ) -> [UInt8] {
        let secret = place == .cookie ? PercentCoding.decode(value, plusIsBlank: false) : Array(value)
        guard let text = replacement(of: NamedSecret(secret, named: name, at: place)) else { return Array(value) }
        return secret.elementsEqual(value) ? text : PercentCoding.encode(text)
    }
}

/// The name of the scheme before credentials (RFC 9110, section 11.4), which is not secret.
enum AuthorizationScheme {
    /// The schemes that are also found outside a field, such as in JSON.
    private static let known = ["bearer", "basic", "token", "dpop"]

    /// The number of bytes of one of the usual schemes and the blank after it, which may be encoded; 0 without a
    /// scheme.
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

    /// The number of bytes of any scheme in a field of credentials and the blanks after it; 0 without a scheme.
    static func lengthInField(_ value: ArraySlice<UInt8>) -> Int {
        let word = value.prefix { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
        // A first word that is longer than any registered scheme is more likely a part of a secret.
        guard let first = word.first, isLetter(first), word.count <= 24 else { return 0 }
        let blanks = value[word.endIndex...].prefix { $0 == 0x20 || $0 == 0x09 }.count
        let length = word.count + blanks
        return blanks > 0 && length < value.count ? length : 0
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
