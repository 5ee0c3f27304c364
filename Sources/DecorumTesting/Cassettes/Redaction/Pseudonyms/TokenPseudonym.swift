import Decorum
import DecorumArchive
import Foundation

/// The pseudonym of a JSON Web Token: it decodes, with the same names of claims.
///
/// Its JSON starts with blanks, so that it does not start with the `eyJ` by which scanners find tokens, and is longer
/// than the texts whose entropy they examine. The head and the claims by which a client accepts a token stay; times
/// become constants, and the token expires in the year 2100. All other claims get pseudonyms of their own.
enum TokenPseudonym {
    private static let keptClaims: Set<String> = [
        "aud", "azp", "client_id", "iss", "scope", "scopes", "scp", "token_type", "token_use", "typ", "ver",
    ]
    private static let times: [String: String] = [
        "auth_time": "1000000000", "exp": "4102444800", "iat": "1000000000", "nbf": "1000000000",
        "updated_at": "1000000000",
    ]
    /// Scanners examine the entropy of texts up to 150 characters.
    private static let leastLength = 160

    /// The pseudonym of a token; nil if the text is none.
    static func text(for secret: [UInt8], number: Int) -> [UInt8]? {
        guard var parts = parts(of: secret[...]), let head = object(in: parts[0]), head["alg"] != nil else {
            return nil
        }
        if parts.count == 3, let claims = object(in: parts[1]) {
            parts[1] = encoded(masked(claims, number: number))[...]
        } else {
            parts[1] = filled(parts[1], number: number)
        }
        for index in 2..<parts.count { parts[index] = filled(parts[index], number: number) }
        let rest = parts.dropFirst().reduce(0) { $0 + $1.count + 1 }
        parts[0] = encoded(head, atLeast: leastLength - rest)[...]
        return Array(parts.joined(separator: [UInt8(ascii: ".")]))
    }

    /// Returns whether a text is a pseudonym of a token, by the blank with which its JSON starts.
    static func isPseudonym(_ text: [UInt8]) -> Bool {
        guard let parts = parts(of: text[...]), isHead(parts[0]) else { return false }
        return parts.count > 3 || parts[1].isEmpty || parts[1].first == UInt8(ascii: "I")
    }

    /// The start of a token whose signature has a mark at an index; nil if there is none.
    static func start(in text: [UInt8], beforeSignature index: Int) -> Int? {
        var end = index
        var starts: [Int] = []
        while starts.count < 4, end > 0, text[end - 1] == UInt8(ascii: ".") {
            let length = text[..<(end - 1)].reversed().prefix { TokenSearch.isWord($0) }.count
            end -= length + 1
            starts.append(end)
            if length > 0, isHead(text[end..<end + length]), starts.count > 1 { return end }
        }
        return nil
    }

    private static func isHead(_ part: ArraySlice<UInt8>) -> Bool {
        guard part.first == UInt8(ascii: "I"), part.starts(with: "IH".utf8) || part.starts(with: "IC".utf8) else {
            return false
        }
        return object(in: part)?["alg"] != nil
    }

    private static func parts(of token: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 5, !parts[0].isEmpty else { return nil }
        return parts.allSatisfy { $0.allSatisfy(TokenSearch.isWord) } ? parts : nil
    }

    private static func object(in part: ArraySlice<UInt8>) -> JSONValue? {
        guard let data = Data(base64URL: part), let value = try? JSONValue(parsing: Array(data)),
            value.members != nil
        else { return nil }
        return value
    }

    /// JSON in Base64 for URLs, with enough blanks before it that no part of it looks like the start of a token.
    private static func encoded(_ value: JSONValue, atLeast length: Int = 0) -> [UInt8] {
        let json = value.document()
        var blanks = max(1, length * 3 / 4 - json.count)
        var text = ""
        for _ in 0..<3 {
            text = Data(Array(repeating: 0x20, count: blanks) + json).base64EncodedString()
            if !text.contains("eyJ") { break }
            blanks += 1
        }
        return text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "").utf8.map { $0 }
    }

    private static func filled(_ part: ArraySlice<UInt8>, number: Int) -> ArraySlice<UInt8> {
        guard !part.isEmpty else { return part }
        return PseudonymAlphabet.mixedAndDigits.text(number: number, length: part.count)[...]
    }

    private static func masked(_ claims: JSONValue, number: Int) -> JSONValue {
        guard let members = claims.members else { return claims }
        return .object(
            members.map { member in
                if keptClaims.contains(member.name) { return member }
                if let time = times[member.name] { return JSONValue.Member(member.name, .number(time)) }
                return JSONValue.Member(member.name, masked(value: member.value, number: number))
            })
    }

    private static func masked(value: JSONValue, number: Int) -> JSONValue {
        switch value {
        case .string(let text):
            return .string(String(decoding: PseudonymForm(of: text.utf8).text(number: number), as: UTF8.self))
        case .number(let digits) where digits.utf8.count(where: \.isDigit) >= 6:
            let text = PseudonymForm(ofNumber: digits.utf8).text(number: number)
            return .number(String(decoding: text, as: UTF8.self))
        case .array(let elements): return .array(elements.map { masked(value: $0, number: number) })
        case .object: return masked(value, number: number)
        default: return value
        }
    }
}

extension Data {
    /// Base64 in either alphabet, with or without its padding (RFC 4648, sections 4 and 5); nil when it is none.
    init?(base64URL part: some Sequence<UInt8>) {
        var text = String(decoding: part.filter { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            .replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        self.init(base64Encoded: text)
    }
}
