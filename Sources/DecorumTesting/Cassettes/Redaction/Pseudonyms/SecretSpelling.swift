import Decorum

/// The forms of a secret in the places that encode it.
package enum SecretSpelling: Sendable {
    /// The secret itself, percent-encoded with digits of either case, and as a string of JSON with and without escaped
    /// slashes.
    ///
    /// - Parameter secret: The bytes of the secret.
    /// - Returns: The spellings, each once.
    package static func all(of secret: [UInt8]) -> [[UInt8]] {
        let encoded = PercentCoding.encode(secret)
        let escaped = JSONText.escape(secret)
        var spellings = [secret]
        for spelling in [encoded, lowercasingDigits(of: encoded), escaped, escapingSlashes(of: escaped)]
        where !spellings.contains(spelling) {
            spellings.append(spelling)
        }
        return spellings
    }

    /// The spellings of another text, each in the form of the spelling of a secret at the same index.
    static func inStep(with secret: [UInt8], of text: [UInt8]) -> [[UInt8]] {
        let encoded = PercentCoding.encode(secret)
        let escaped = JSONText.escape(secret)
        return all(of: secret).map { spelling in
            if spelling == secret { return text }
            if spelling == encoded { return PercentCoding.encode(text) }
            if spelling == lowercasingDigits(of: encoded) { return lowercasingDigits(of: PercentCoding.encode(text)) }
            return spelling == escaped ? JSONText.escape(text) : escapingSlashes(of: JSONText.escape(text))
        }
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
