import Decorum
import DecorumArchive
import Foundation

/// Finds texts that have the shape of a secret, or follow the name of one.
struct SecretHits {
    private let bytes: [UInt8]

    static func all(in bytes: [UInt8]) -> [SecretHit] {
        let scanner = SecretHits(bytes: bytes)
        let passwords = scanner.urlPasswords()
        // A recording holds pseudonyms where its tokens were.
        let tokens = TokenSearch.tokens(in: bytes).filter { !Pseudonym.isPseudonym(bytes[$0.range]) }
            .map { SecretHit(kind: SecretKind($0.kind), range: $0.range) }
        let encoded = EncodedTokens.all(in: bytes, redaction: .standard).filter { holdsSecret(encoded: bytes[$0]) }
            .map { SecretHit(kind: EncodedTokens.isAWSSecretKey(bytes[$0]) ? .awsSecretKey : .encodedToken, range: $0) }
        // A text of two kinds is reported once: as a password rather than a token, and by its shape rather than its
        // name.
        let plain = (passwords + apart(tokens, from: passwords)).sorted()
        let shaped = (plain + apart(encoded, from: plain)).sorted()
        return shaped + apart(scanner.namedValues(), from: shaped)
    }

    /// Whether a text in Base64 holds a secret that is not replaced yet.
    private static func holdsSecret(encoded text: ArraySlice<UInt8>) -> Bool {
        if EncodedTokens.isAWSSecretKey(text) { return !Pseudonym.isPseudonym(text) }
        guard let data = Data(base64URL: text) else { return true }
        let bytes = Array(data)
        if TokenSearch.tokens(in: bytes).contains(where: { !Pseudonym.isPseudonym(bytes[$0.range]) }) { return true }
        guard JSONText.isLikely(bytes) else { return false }
        let noted = NotedSecrets()
        _ = SecretRewriting(.standard, by: noted).applied(to: data, mediaType: "application/json")
        // The claims of a token that was replaced start with a blank, and have short placeholders too.
        let isReplaced = bytes.first == 0x20
        return noted.secrets.contains { !$0.isMarkedPlaceholder && !(isReplaced && $0.mayBePlaceholder) }
    }

    /// The hits that overlap none of the others; both lists are in the order of the text.
    private static func apart(_ hits: [SecretHit], from others: [SecretHit]) -> [SecretHit] {
        var others = others[...]
        return hits.filter { hit in
            while let first = others.first, first.range.upperBound <= hit.range.lowerBound { others.removeFirst() }
            return others.first.map { !$0.range.overlaps(hit.range) } ?? true
        }
    }

    private func namedValues() -> [SecretHit] {
        bytes.indices.compactMap { index in
            guard NamedValue.separates(bytes[index]) else { return nil }
            return NamedValue.range(in: bytes, behind: index).map { SecretHit(kind: .namedValue, range: $0) }
        }
    }

    private func urlPasswords() -> [SecretHit] {
        var hits: [SecretHit] = []
        var index = 0
        while let colon = bytes[index...].firstIndex(of: UInt8(ascii: ":")) {
            if let hit = urlPassword(at: colon) { hits.append(hit) }
            index = max(hits.last?.range.upperBound ?? 0, colon + 1)
        }
        return hits
    }

    /// A password before the host of a URL, whose slashes may be escaped as in JSON.
    private func urlPassword(at colon: Int) -> SecretHit? {
        var start = colon + 1
        for _ in 0..<2 {
            if start < bytes.count, bytes[start] == UInt8(ascii: "\\") { start += 1 }
            guard start < bytes.count, bytes[start] == UInt8(ascii: "/") else { return nil }
            start += 1
        }
        let end = bytes[start...].prefix(512).firstIndex { !Self.isUserinfo($0) } ?? min(bytes.count, start + 512)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "@"),
            let separator = bytes[start..<end].firstIndex(of: UInt8(ascii: ":")),
            end + 1 < bytes.count, TokenSearch.isWord(bytes[end + 1]) || bytes[end + 1] == UInt8(ascii: "[")
        else { return nil }
        let password = separator + 1..<end
        let word = String(decoding: bytes[password], as: UTF8.self).lowercased()
        let isDummy = ["", "pass", "password", "passwd", "pwd", "redacted", "secret"].contains(word)
        let isReal = !isDummy && Set(bytes[password]).count > 1 && !Pseudonym.isPseudonym(bytes[password])
        return isReal ? SecretHit(kind: .urlPassword, range: password) : nil
    }

    private static func isUserinfo(_ byte: UInt8) -> Bool {
        TokenSearch.isWord(byte) || ".~%!$&'()*+,;=:".utf8.contains(byte)
    }
}

extension [SecretHit] {
    fileprivate func sorted() -> [SecretHit] { sorted { $0.range.lowerBound < $1.range.lowerBound } }
}
