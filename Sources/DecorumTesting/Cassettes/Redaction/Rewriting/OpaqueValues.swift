import Decorum
import Foundation
import HTTPTypes

/// Values that look random, at places whose names alone do not make a value secret.
enum OpaqueValues {
    private static let leastLength = 12
    private static let fieldEndings = ["-key", "-ticket", "-pin", "-passkey", "-license", "-licence"]
    /// Fields whose values look random, and are no secrets.
    private static let harmlessFieldEndings = [
        "cache-key", "deduplication-key", "idempotency-key", "object-key", "partition-key", "public-key", "routing-key",
        "sort-key", "surrogate-key", "websocket-key",
    ]

    /// Whether a field may hold a key or a ticket of a service's own, as in `X-Shop-Key`.
    static func isSecret(_ field: HTTPField) -> Bool {
        let name = field.name.canonicalName.utf8
        // Most names have another ending.
        guard let last = name.last, "ytne".utf8.contains(last) else { return false }
        func ends(with ending: String) -> Bool { name.suffix(ending.utf8.count).elementsEqual(ending.utf8) }
        guard fieldEndings.contains(where: ends), !harmlessFieldEndings.contains(where: ends) else { return false }
        return isRandom(Array(field.value.utf8))
    }

    /// The name of the secret that is the whole content of an answer, as in the answer to `GET /auth/token`; nil if the
    /// content is not one random word, or the last part of the path is not the name of a secret.
    static func name(of content: Data, mediaType: String?, answering url: String, _ redaction: Redaction) -> [UInt8]? {
        guard [.text, .unknown].contains(ContentKind(mediaType: mediaType)), content.count <= 4096,
            isRandom(word(in: Array(content)))
        else { return nil }
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let last = path.split(separator: UInt8(ascii: "/")).last.map(Array.init) else { return nil }
        return redaction.formNames.secrecy(of: last) == nil ? nil : last
    }

    /// The content without the blanks around it.
    static func word(in content: [UInt8]) -> [UInt8] {
        Array(content.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
    }

    private static func isRandom(_ value: [UInt8]) -> Bool {
        value.count >= leastLength && value.allSatisfy { TokenSearch.isWord($0) || "+/=.~:".utf8.contains($0) }
            && value.contains(where: \.isDigit) && value.contains { $0.isLowercase || $0.isUppercase }
            && Set(value).count >= 8
    }
}
