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
