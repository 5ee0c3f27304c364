import Decorum

extension SecretSearch {
    /// The encoding of the values in the searched format.
    enum Coding {
        /// Percent-encoded.
        case url
        /// Percent-encoded, with `+` for a blank.
        case form
        /// Not encoded.
        case none
    }

    /// The bytes with a replacement for each secret that was found; nil when no secret was found.
    ///
    /// The scheme before credentials, such as `Bearer`, stays.
    func rewritten(
        by rewriting: SecretRewriting, coding: Coding = .url, at place: NamedSecret.Place = .item
    ) -> [UInt8]? {
        replacing { secret in
            let value = bytes[secret.range]
            let scheme = AuthorizationScheme.length(in: value)
            let coded = value.dropFirst(scheme)
            let decoded = coding == .none ? Array(coded) : PercentCoding.decode(coded, plusIsBlank: coding == .form)
            let found =
                secret.name.map { NamedSecret(decoded, named: bytes[$0], at: place) }
                ?? (secret.isPath
                    ? NamedSecret(decoded, named: "path".utf8, at: .path)
                    : NamedSecret(decoded, named: "userinfo".utf8, at: .userinfo))
            guard let text = rewriting.replacement(of: found) else { return Array(value) }
            return value.prefix(scheme) + (decoded.elementsEqual(coded) ? text : PercentCoding.encode(text))
        }
    }
}
