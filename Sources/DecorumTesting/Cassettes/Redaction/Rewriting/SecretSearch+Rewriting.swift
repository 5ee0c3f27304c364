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
                secret.name.map { NamedSecret(decoded, named: itemName($0, coding), at: place) }
                ?? (secret.isPath
                    ? NamedSecret(decoded, named: "path".utf8, at: .path)
                    : NamedSecret(decoded, named: "userinfo".utf8, at: .userinfo))
            guard let text = rewriting.replacement(of: found) else { return Array(value) }
            return value.prefix(scheme) + (decoded.elementsEqual(coded) ? text : PercentCoding.encode(text))
        }
    }

    /// The name of an item without its encoding.
    private func itemName(_ range: Range<Int>, _ coding: Coding) -> [UInt8] {
        guard coding != .none else { return Array(bytes[range]) }
        let name = bytes[range]
        guard name.last == UInt8(ascii: "=") else { return PercentCoding.decode(name) }
        // Where the value is an encoded URL or JSON with a secret, the range is all of the item before the value.
        let mark = name.lastIndex { "?&;#/".utf8.contains($0) }
        return PercentCoding.decode(name[(mark.map { $0 + 1 } ?? name.startIndex)...].dropLast())
    }
}
