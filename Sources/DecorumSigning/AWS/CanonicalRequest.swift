#if Signing
import Crypto
import Decorum
import Foundation
import HTTPTypes

/// The canonical form of a request, whose hash Signature Version 4 and 4A sign.
struct CanonicalRequest: Sendable {
    /// The form in which a service reads the path before it checks the signature.
    enum PathForm: Sendable {
        /// S3: a key may have any characters, and empty and dotted segments, and is encoded once.
        case object
        /// Empty and dotted segments are removed, and the path is encoded once more, as it was sent.
        case normalized
        /// The path is encoded once more, as it was sent.
        case asSent
    }

    /// A field by its name in lower case, and all its values.
    typealias Field = (key: String, value: String)

    let bytes: [UInt8]
    /// The names of the signed fields, joined by semicolons.
    let signedFields: String
    /// The items of the query, with the ones that are added.
    let query: String

    /// Writes the canonical form of a target as it is sent and of fields from ``signable(_:host:)``, with items that are added
    /// to the query, and with the hash of the content or the word in place of it.
    init(
        method: String, target: String, fields: [Field], adding items: [QueryItem] = [], contentHash: String,
        path form: PathForm
    ) {
        let target = Array(target.utf8)
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        let given = String(decoding: target[mark...].dropFirst(), as: UTF8.self)
        query = QueryItem.canonicalText(of: items + QueryItem.items(of: given, plusIsBlank: false))
        signedFields = Self.names(of: fields)
        var bytes = [UInt8](joining: method, "\n")
        bytes += Self.path(target[..<mark], as: form)
        bytes.write("\n", query, "\n")
        for field in fields { bytes.write(field.key, ":", field.value, "\n") }
        bytes.write("\n", signedFields, "\n", contentHash)
        self.bytes = bytes
    }

    /// The hash of the bytes, in hexadecimal digits.
    var hash: String { SHA256.hash(data: bytes).hexText }

    /// The names of fields, joined by semicolons.
    static func names(of fields: [Field]) -> String { fields.map(\.key).joined(separator: ";") }

    /// The fields of a request that are signed, sorted by their names.
    ///
    /// Fields that transports and proxies write or change are left out, and so are those that belong to no service.
    static func signable(_ fields: HTTPFields, host: String) -> [Field] {
        var found: [Field] = []
        for field in fields where !unsigned.contains(field.name.canonicalName) {
            found.append((field.name.canonicalName, collapsed(field.value)))
        }
        if !found.contains(where: { $0.key == "host" }) { found.append(("host", host)) }
        // Fields of one name keep their order.
        found.sort { $0.key < $1.key }
        return found.reduce(into: []) { joined, field in
            guard joined.last?.key == field.key else { return joined.append(field) }
            joined[joined.count - 1].value += ",\(field.value)"
        }
    }

    private static let unsigned: Set<String> = [
        "accept", "accept-encoding", "accept-language", "authorization", "baggage", "cache-control", "connection",
        "cookie", "expect", "forwarded", "keep-alive", "pragma", "proxy-authorization", "proxy-connection", "te",
        "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-amzn-trace-id",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    ]

    /// A value with one blank in place of several, and without blanks around it.
    private static func collapsed(_ value: String) -> String {
        guard !value.allUTF8({ $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else { return value }
        let words = value.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return words.map { String(Substring($0)) }.joined(separator: " ")
    }

    /// The canonical form of a path.
    static func path(_ path: ArraySlice<UInt8>, as form: PathForm) -> [UInt8] {
        let path =
            switch form {
            case .object: PercentEscapes.decode(path, plusIsBlank: false)[...]
            case .normalized: normalized(path)
            case .asSent: path
            }
        return PercentEscapes.encode(path.isEmpty ? [UInt8(ascii: "/")] : Array(path), keeping: [UInt8(ascii: "/")])
    }

    private static func normalized(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
        // Most paths have no empty segment and none that starts with a dot.
        let isNormal = zip(path, path.dropFirst()).allSatisfy { $0 != slash || $1 != slash && $1 != dot }
        if isNormal, path.first == slash { return path }
        var kept: [ArraySlice<UInt8>] = []
        var endsWithSlash = false
        for segment in path.split(separator: slash, omittingEmptySubsequences: false) {
            endsWithSlash = segment.isEmpty || segment == [dot] || segment == [dot, dot]
            if segment == [dot, dot] {
                _ = kept.popLast()
            } else if !endsWithSlash {
                kept.append(segment)
            }
        }
        guard !kept.isEmpty else { return [slash] }
        return [slash] + kept.joined(separator: [slash]) + (endsWithSlash ? [slash] : [])
    }
}
/// The key of one day, and all that its signatures say beside the request.
struct AWSSeal: Sendable {
    enum Key {
        case hmac(HMAC<SHA256>)
        case ecdsa(P256.Signing.PrivateKey)

        /// The key of Signature Version 4, which is derived from the parts of the scope.
        init(_ credentials: AWSCredentials, scope: String) {
            let secret = SymmetricKey(data: Data("AWS4\(credentials.secretAccessKey)".utf8))
            let key = scope.split(separator: "/").reduce(secret) { key, part in
                SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
            }
            self = .hmac(HMAC(key: key))
        }
    }

    /// The name of the algorithm.
    let algorithm: String
    /// The date and the time, as in `20150830T123600Z`.
    let date: String
    /// The scope, as in `20150830/us-east-1/s3/aws4_request`.
    let scope: String
    let accessKeyID: String
    let key: Key

    /// The text that is signed for the hash of a request, or for a part of its content.
    func text(_ part: String = "", of rest: String) -> [UInt8] {
        [UInt8](joining: algorithm, part, "\n", date, "\n", scope, "\n", rest)
    }

    /// The signature in hexadecimal digits.
    func signature(_ part: String = "", of rest: String) throws -> String {
        switch key {
        case .hmac(let start): start.code(for: text(part, of: rest)).hexText
        case .ecdsa(let key): try key.signature(for: text(part, of: rest)).derRepresentation.hexText
        }
    }
}

extension AWSSeal: SecretHolder {
    /// The scope, without the key.
    var description: String { "a key for \(scope)" }
}

extension P256.Signing.PrivateKey {
    /// The key that Signature Version 4A derives from a secret key: the first candidate of HMAC with SHA-256 in counter mode
    /// (NIST SP 800-108), plus one, that is less than the order of the curve.
    static func aws4a(_ credentials: AWSCredentials) throws -> P256.Signing.PrivateKey {
        let secret = SymmetricKey(data: Data("AWS4A\(credentials.secretAccessKey)".utf8))
        for counter in UInt8(1)...254 {
            let label = "AWS4-ECDSA-P256-SHA256\0\(credentials.accessKeyID)"
            // The last number is the length of the key in bits.
            let input = [0, 0, 0, 1] + Array(label.utf8) + [counter, 0, 0, 1, 0]
            var candidate = Array(HMAC<SHA256>.authenticationCode(for: input, using: secret))
            for position in candidate.indices.reversed() {
                candidate[position] &+= 1
                if candidate[position] != 0 { break }
            }
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: candidate) { return key }
        }
        throw SigningError(.wrongKey, "No key can be derived from the secret access key. Use other credentials.")
    }
}

extension Date {
    /// The date in the form of AWS, with whole seconds in UTC.
    var amzText: String {
        let civil = CivilDate(seconds: HTTPDate(self).seconds)
        // A one in front keeps the zeros.
        let day = 100_000_000 + civil.year * 10_000 + civil.month * 100 + civil.day
        var text = Array(String(day * 1_000_000 + civil.hour * 10_000 + civil.minute * 100 + civil.second).utf8)
        text.insert(UInt8(ascii: "T"), at: 9)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text[1...], as: UTF8.self)
    }
}
#endif
