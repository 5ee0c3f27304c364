import Decorum
import Foundation
import HTTPTypes

/// Values that look random, at places whose names alone do not make a value secret.
enum OpaqueValues {
    private static let leastLength = 12
    private static let fieldNames: SecretNames = ["*key", "*ticket", "*pin", "*license", "*licence"]

    /// Whether a field may hold a key or a ticket of a service's own, as in `X-Shop-Key`.
    static func isSecret(_ field: HTTPField) -> Bool {
        fieldNames.secrecy(of: field.name.canonicalName.utf8) != nil && isRandom(Array(field.value.utf8))
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
