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
