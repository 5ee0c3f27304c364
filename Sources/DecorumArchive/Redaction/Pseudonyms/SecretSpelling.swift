import Decorum

/// How a secret reads in the places that encode it.
public enum SecretSpelling: Sendable {
    /// The secret itself, percent-encoded with digits of either case, and as a string of JSON with and without escaped
    /// slashes.
    ///
    /// - Parameter secret: The bytes of the secret.
    /// - Returns: The spellings, each once.
    public static func all(of secret: [UInt8]) -> [[UInt8]] {
        let encoded = PercentCoding.encode(secret)
        let escaped = JSONText.escape(secret)
        var spellings = [secret]
        for spelling in [encoded, lowercasingDigits(of: encoded), escaped, escapingSlashes(of: escaped)]
        where !spellings.contains(spelling) {
            spellings.append(spelling)
        }
        return spellings
    }

    private static func lowercasingDigits(of encoded: [UInt8]) -> [UInt8] {
        var encoded = encoded
        for index in encoded.indices where encoded[index] == UInt8(ascii: "%") && index + 2 < encoded.count {
            for digit in index + 1...index + 2 where encoded[digit] >= 0x41 { encoded[digit] |= 0x20 }
        }
        return encoded
    }

    private static func escapingSlashes(of escaped: [UInt8]) -> [UInt8] {
        escaped.flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] }
    }
}
