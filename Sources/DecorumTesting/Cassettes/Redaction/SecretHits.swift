import Decorum
import Foundation

/// Finds what has the shape of a secret, in one pass.
struct SecretHits {
    private let bytes: [UInt8]
    private var hits: [SecretHit] = []
    /// Those that go by a name alone.
    private var named: [SecretHit] = []

    static func all(in bytes: [UInt8]) -> [SecretHit] {
        var scanner = SecretHits(bytes: bytes)
        scanner.run()
        // What has a shape, too, is told once, and by its shape.
        var shaped = scanner.hits[...]
        return scanner.hits
            + scanner.named.filter { hit in
                while let first = shaped.first, first.range.upperBound <= hit.range.lowerBound { shaped.removeFirst() }
                return shaped.first.map { !$0.range.overlaps(hit.range) } ?? true
            }
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private mutating func run() {
        let shapes = TokenShape.all
        // Whether the last byte was a part of a word: tokens start where a word does.
        var isInWord = false
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: ":") || byte == UInt8(ascii: "-") {
                if let hit = byte == UInt8(ascii: "-") ? privateKey(at: index) : urlPassword(at: index) {
                    hits.append(hit)
                    index = hit.range.upperBound
                    isInWord = false
                    continue
                }
            }
            if NamedValue.separates(byte), let range = NamedValue.range(in: bytes, behind: index) {
                named.append(SecretHit(kind: .namedValue, range: range))
            }
            let startsWord = !isInWord || isAfterEscape(index)
            isInWord = Self.isWord(byte)
            guard startsWord, isInWord else {
                index += 1
                continue
            }
            if let hit = token(at: index, shapes: shapes[Int(byte)]) {
                hits.append(hit)
                index = hit.range.upperBound
            } else {
                index += 1
            }
        }
    }

    private func token(at index: Int, shapes: [TokenShape]) -> SecretHit? {
        for shape in shapes {
            if let range = shape.token(in: bytes, at: index) { return SecretHit(kind: shape.kind, range: range) }
        }
        switch bytes[index] {
        case UInt8(ascii: "e"): return jsonWebToken(at: index)
        case UInt8(ascii: "B"), UInt8(ascii: "b"): return credentials(at: index)
        default: return nil
        }
    }

    /// A token of three or more parts, of which the first is a JSON object that names an algorithm (RFC 7519).
    private func jsonWebToken(at start: Int) -> SecretHit? {
        guard bytes[start...].starts(with: "eyJ".utf8) else { return nil }
        let head = run(from: start, limit: 4096, while: Self.isBase64URL)
        let payload = part(after: head)
        guard let payload, payload.count > 3, let signature = part(after: payload.upperBound),
            let decoded = Self.decodedBase64(bytes[start..<head]), Self.namesAlgorithm(decoded)
        else { return nil }
        return SecretHit(kind: .jsonWebToken, range: start..<signature.upperBound)
    }

    private func part(after dot: Int) -> Range<Int>? {
        guard dot < bytes.count, bytes[dot] == UInt8(ascii: ".") else { return nil }
        return dot + 1..<run(from: dot + 1, limit: .max, while: Self.isBase64URL)
    }

    /// Credentials behind the name of their scheme (RFC 6750 and RFC 7617).
    private func credentials(at start: Int) -> SecretHit? {
        let word = bytes[start...].prefix(6).map { $0 | 0x20 }
        let isBearer = word.elementsEqual("bearer".utf8)
        guard isBearer || word.starts(with: "basic".utf8) else { return nil }
        let scheme = start + (isBearer ? 6 : 5)
        var content = run(from: scheme, limit: 8) { $0 == 0x20 || $0 == UInt8(ascii: "+") }
        if content == scheme, bytes[scheme...].starts(with: "%20".utf8) { content += 3 }
        guard content > scheme else { return nil }
        let range = content..<run(from: content, limit: 2048, while: Self.isToken68)
        guard !Pseudonym.isPseudonym(bytes[range]) else { return nil }
        if isBearer {
            // What is all letters is prose; what is `key=value` is a challenge or an assignment.
            let isToken =
                range.count >= 16 && bytes[range].contains(where: { (0x30...0x39).contains($0) })
                && Set(bytes[range]).count >= 6 && bytes[range].first != UInt8(ascii: "/")
            return isToken ? SecretHit(kind: .bearerToken, range: range) : nil
        }
        guard let decoded = Self.decodedBase64(bytes[range]), decoded.count > 2,
            decoded.contains(UInt8(ascii: ":")), decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            String(validating: decoded, as: UTF8.self) != nil
        else { return nil }
        return SecretHit(kind: .basicCredentials, range: range)
    }

    /// A password before the host of a URL, of which the slashes may be escaped as in JSON.
    private func urlPassword(at colon: Int) -> SecretHit? {
        var start = colon + 1
        for _ in 0..<2 {
            if start < bytes.count, bytes[start] == UInt8(ascii: "\\") { start += 1 }
            guard start < bytes.count, bytes[start] == UInt8(ascii: "/") else { return nil }
            start += 1
        }
        let end = run(from: start, limit: 512, while: Self.isUserinfo)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "@"),
            let separator = bytes[start..<end].firstIndex(of: UInt8(ascii: ":")),
            end + 1 < bytes.count, Self.isWord(bytes[end + 1]) || bytes[end + 1] == UInt8(ascii: "[")
        else { return nil }
        let password = separator + 1..<end
        let word = String(decoding: bytes[password], as: UTF8.self).lowercased()
        let isDummy = ["", "pass", "password", "passwd", "pwd", "redacted", "secret"].contains(word)
        let isReal = !isDummy && Set(bytes[password]).count > 1 && !Pseudonym.isPseudonym(bytes[password])
        return isReal ? SecretHit(kind: .urlPassword, range: password) : nil
    }

    /// A private key in its textual form (RFC 7468), with at least a line of it behind the heading.
    private func privateKey(at start: Int) -> SecretHit? {
        let heading = "-----BEGIN "
        guard bytes[start...].starts(with: heading.utf8) else { return nil }
        let label = bytes[start...].dropFirst(heading.utf8.count).prefix { $0 != UInt8(ascii: "-") && $0 > 0x1F }
        guard label.count < 64 else { return nil }
        let words = label.split(separator: 0x20)
        let isPrivate =
            words.contains { $0.elementsEqual("PRIVATE".utf8) }
            && words.contains {
                $0.elementsEqual("KEY".utf8)
            }
        let content = run(from: label.endIndex, limit: 24) {
            $0 == UInt8(ascii: "-") || $0 <= 0x20 || $0 == UInt8(ascii: "\\")
        }
        guard isPrivate, run(from: content, limit: 16, while: Self.isToken68) - content >= 8 else { return nil }
        return SecretHit(kind: .privateKey, range: start..<content)
    }

    /// Tells whether the bytes before an index escape another one, in JSON or in a URL.
    private func isAfterEscape(_ index: Int) -> Bool {
        if index > 1, bytes[index - 2] == UInt8(ascii: "\\") { return true }
        if index > 2, bytes[index - 3] == UInt8(ascii: "%") { return true }
        return index > 5 && bytes[index - 6] == UInt8(ascii: "\\") && bytes[index - 5] == UInt8(ascii: "u")
    }

    private func run(from start: Int, limit: Int, while isIncluded: (UInt8) -> Bool) -> Int {
        let end = limit < bytes.count - start ? start + limit : bytes.count
        var index = start
        while index < end, isIncluded(bytes[index]) { index += 1 }
        return index
    }
}

extension SecretHits {
    private static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-")
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool { isWord(byte) }

    private static func isToken68(_ byte: UInt8) -> Bool { isWord(byte) || ".~+/=".utf8.contains(byte) }

    private static func isUserinfo(_ byte: UInt8) -> Bool { isWord(byte) || ".~%!$&'()*+,;=:".utf8.contains(byte) }

    private static func namesAlgorithm(_ json: [UInt8]) -> Bool {
        guard let head = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any] else { return false }
        return head["alg"] != nil
    }

    private static func decodedBase64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var standard = text.map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        while standard.last == UInt8(ascii: "=") { standard.removeLast() }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard)).map { Array($0) }
    }
}
