/// Finds texts in Base64 that hold a token, or JSON with a secret; one level of encoding is undone.
public enum EncodedTokens: Sendable {
    /// The length of the shortest text that is decoded; a shorter one holds no token.
    private static let leastLength = 20
    private static let longestLength = 1 << 16

    /// Finds the words of a text that are Base64 of a text with a token.
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
            if isEncodedToken(bytes[start..<end], redaction, counting: &steps) { found.append(start..<end) }
            start = end
        }
        return found
    }

    /// Whether a text is Base64 of a text with a token.
    ///
    /// Nearly all others are refused by their first characters.
    static func isEncodedToken(_ text: ArraySlice<UInt8>, _ redaction: Redaction, counting steps: inout Int) -> Bool {
        guard (leastLength...longestLength).contains(text.count), text.prefix(12).allSatisfy(isInBase64),
            Base64Text.decode(text.prefix(12), where: Base64Text.isText) != nil
        else { return false }
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
