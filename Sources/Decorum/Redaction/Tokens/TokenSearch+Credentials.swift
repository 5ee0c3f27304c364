/// Tokens that are known by more than their start: JSON Web Tokens, and credentials behind the name of a scheme.
extension TokenSearch {
    /// A token of three or more parts, whose first part is a JSON object that names an algorithm (RFC 7519).
    mutating func jsonWebToken(at start: Int) -> Token? {
        guard text[start...].starts(with: "eyJ".utf8) else { return nil }
        let head = end(from: start, limit: 4096, while: Self.isWord)
        guard let payload = part(after: head), let signature = part(after: payload.upperBound),
            // The second part is empty when the content is detached or the key is agreed directly.
            payload.count > 3 || payload.isEmpty && !signature.isEmpty
        else { return nil }
        steps += head - start
        guard let decoded = Base64Text.decode(text[start..<head]), Self.namesAlgorithm(decoded) else { return nil }
        var end = signature.upperBound
        // An encrypted token has five parts (RFC 7516).
        for _ in 0..<2 {
            guard let part = part(after: end), !part.isEmpty else { break }
            end = part.upperBound
        }
        return Token(kind: Self.jsonWebToken, range: start..<end)
    }

    private mutating func part(after dot: Int) -> Range<Int>? {
        guard dot < text.endIndex, text[dot] == UInt8(ascii: ".") else { return nil }
        return dot + 1..<end(from: dot + 1, limit: .max, while: Self.isWord)
    }

    /// Credentials after the name of their scheme (RFC 6750 and RFC 7617).
    mutating func credentials(at start: Int) -> Token? {
        let word = text[start...].prefix(6).map { $0 | 0x20 }
        let isBearer = word.elementsEqual("bearer".utf8)
        guard isBearer || word.starts(with: "basic".utf8) else { return nil }
        let scheme = start + (isBearer ? 6 : 5)
        var content = end(from: scheme, limit: 8) { $0 == 0x20 || $0 == UInt8(ascii: "+") }
        if content == scheme, text[scheme...].starts(with: "%20".utf8) { content += 3 }
        guard content > scheme, content < text.endIndex, Self.isToken68(text[content]) else { return nil }
        let range = content..<endOfToken68(from: content)
        if isBearer { return isBearerToken(range) ? Token(kind: Self.bearerToken, range: range) : nil }
        return isBasicPair(range) ? Token(kind: Self.basicCredentials, range: range) : nil
    }

    private mutating func isBearerToken(_ range: Range<Int>) -> Bool {
        guard range.count >= 16, let digit = run.lastDigit, digit >= range.lowerBound else { return false }
        // A word that consists only of letters is prose, and `key="value"` is a challenge or an assignment.
        let isAssignment =
            text[range.upperBound - 1] == UInt8(ascii: "=") && range.upperBound < text.endIndex
            && text[range.upperBound] == UInt8(ascii: "\"")
        steps += min(64, range.count)
        return !isAssignment && text[range.lowerBound] != UInt8(ascii: "/") && Set(text[range].prefix(64)).count >= 6
    }

    private mutating func isBasicPair(_ range: Range<Int>) -> Bool {
        guard range.count <= 1024 else { return false }
        var decoded = 0
        let pair = Base64Text.decode(text[range]) { byte in
            decoded += 1
            return byte >= 0x20 && byte != 0x7F
        }
        steps += decoded
        guard let pair else { return false }
        return pair.count > 2 && pair.contains(UInt8(ascii: ":")) && String(validating: pair, as: UTF8.self) != nil
    }

    /// The end of the token that contains a byte; it is found once for all scheme names inside the token.
    private mutating func endOfToken68(from start: Int) -> Int {
        guard start >= run.end else { return run.end }
        let end = end(from: start, limit: .max, while: Self.isToken68)
        run = (end, text[start..<end].lastIndex { (0x30...0x39).contains($0) })
        steps += end - start
        return end
    }

    static func isToken68(_ byte: UInt8) -> Bool { isWord(byte) || ".~+/=".utf8.contains(byte) }

    /// Finds the member that the head of each JSON Web Token has (RFC 7515, section 4.1.1).
    private static let algorithm = Redaction(fields: [], queryItems: [], jsonPaths: ["alg"], formNames: [])

    private static func namesAlgorithm(_ json: [UInt8]) -> Bool {
        let head = JSONSecrets(json, redaction: algorithm)
        return head.fault == nil && head.places.contains { $0.kind == .value }
    }
}
