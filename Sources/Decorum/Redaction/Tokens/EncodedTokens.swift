/// Finds texts in Base64 that hold a token, or JSON with a secret, or that are a secret key of AWS with a `+` or `/`; one
/// level of encoding is undone.
public enum EncodedTokens: Sendable {
    /// The length of the shortest text that is decoded; a shorter one holds no token.
    private static let leastLength = 20
    private static let longestLength = 1 << 16

    /// Finds the words of a text that are Base64 of a text with a token, or a secret key of AWS.
    ///
    /// - Parameters:
    ///   - bytes: The text, or any other bytes.
    ///   - redaction: The redaction that names the secrets of JSON.
    /// - Returns: The words, from the left.
    public static func all(in bytes: [UInt8], redaction: Redaction) -> [Range<Int>] {
        var steps = 0
        var found: [Range<Int>] = []
        var start = 0
        while start < bytes.count {
            guard isInBase64(bytes[start]) else {
                start += 1
                continue
            }
            let end = bytes[start...].firstIndex { !isInBase64($0) } ?? bytes.count
            // Behind a point, a word with a slash is the end of a host and a path.
            let isPath = start > 0 && bytes[start - 1] == UInt8(ascii: ".") && isAWSSecretKey(bytes[start..<end])
            if !isPath, isEncodedToken(bytes[start..<end], redaction, counting: &steps) { found.append(start..<end) }
            start = end
        }
        return found
    }

    /// Whether a word may be a secret key of AWS, which is Base64 of 30 random bytes and has no prefix.
    ///
    /// A word without a plus sign or a slash is as likely an identifier, so it does not count; a slash at the start is one
    /// of a path.
    package static func isAWSSecretKey(_ word: ArraySlice<UInt8>) -> Bool {
        word.count == 40 && word.allSatisfy { $0.isASCIILetterOrDigit || "+/".utf8.contains($0) }
            && !word.allSatisfy(\.isASCIILetterOrDigit) && word.first != UInt8(ascii: "/")
            && word.contains(where: \.isDecimalDigit) && word.contains { (0x41...0x5A).contains($0) }
            && word.contains { (0x61...0x7A).contains($0) } && !WordPairs.prevail(in: word)
    }

    /// Whether a text is Base64 of a text with a token, or a secret key of AWS.
    ///
    /// Nearly all others are refused by their first characters.
    static func isEncodedToken(_ text: ArraySlice<UInt8>, _ redaction: Redaction, counting steps: inout Int) -> Bool {
        guard (leastLength...longestLength).contains(text.count), text.prefix(12).allSatisfy(isInBase64) else {
            return false
        }
        if isAWSSecretKey(text) { return true }
        guard Base64Text.decode(text.prefix(12), where: Base64Text.isText) != nil else { return false }
        steps += text.count
        guard let decoded = Base64Text.decode(text, where: Base64Text.isText) else { return false }
        steps += decoded.count
        if !TokenSearch.tokens(in: decoded).isEmpty { return true }
        guard JSONText.isLikely(decoded) else { return false }
        let json = JSONSecrets(decoded, redaction: redaction)
        return json.fault == nil && json.places.contains { $0.kind == .value }
    }

    private static func isInBase64(_ byte: UInt8) -> Bool { TokenSearch.isWord(byte) || "+/=".utf8.contains(byte) }
}
