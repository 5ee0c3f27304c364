import Decorum

extension SecretSearch {
    /// How the values of the searched format are written.
    enum Coding {
        /// Percent-encoded.
        case url
        /// Percent-encoded, with `+` for a blank.
        case form
        /// As they are.
        case markup
    }

    /// The bytes with a pseudonym for each secret that was found; nil where there is none.
    ///
    /// The scheme before credentials, such as `Bearer`, stays.
    func named(in pseudonyms: Pseudonyms, _ redaction: Redaction, coding: Coding = .url) -> [UInt8]? {
        replacing { secret in
            let value = bytes[secret.range]
            let scheme = AuthorizationScheme.length(in: value)
            let coded = value.dropFirst(scheme)
            let decoded =
                coding == .markup ? Array(coded) : PercentCoding.decode(coded, plusIsBlank: coding == .form)
            let name = secret.name.map { bytes[$0] } ?? Array("userinfo".utf8)[...]
            guard let text = redaction.pseudonym(of: decoded, named: name, in: pseudonyms) else { return Array(value) }
            return value.prefix(scheme) + text
        }
    }
}
