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

    let text: String
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
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let given = mark.map { QueryItem.items(of: target[$0...].dropFirst(), plusIsBlank: false) } ?? []
        query = QueryItem.canonicalText(of: items + given)
        signedFields = Self.names(of: fields)
        // Appending takes half the time of interpolation.
        var text = method
        for line in ["\n", Self.path(target[..<(mark ?? target.endIndex)], as: form), "\n", query, "\n"] {
            text += line
        }
        for field in fields {
            for part in [field.key, ":", field.value, "\n"] { text += part }
        }
        for line in ["\n", signedFields, "\n", contentHash] { text += line }
        self.text = text
    }

    /// The hash of the text, in hexadecimal digits.
    var hash: String { SHA256.hash(data: Data(text.utf8)).hexText }

    /// The names of fields, joined by semicolons.
    static func names(of fields: [Field]) -> String { fields.map(\.key).joined(separator: ";") }

    /// The fields of a request that are signed, sorted by their names.
    ///
    /// Fields that transports and proxies write or change are left out, and so are those that belong to no service.
    static func signable(_ fields: HTTPFields, host: String) -> [Field] {
        var values: [String: String] = [:]
        for field in fields {
            let name = field.name.canonicalName
            guard !unsigned.contains(name) else { continue }
            let value = collapsed(field.value)
            if values[name]?.append(",\(value)") == nil { values[name] = value }
        }
        if values["host"] == nil { values["host"] = host }
        return values.sorted { $0.key < $1.key }
    }

    private static let unsigned: Set<String> = [
        "accept", "accept-encoding", "accept-language", "authorization", "baggage", "cache-control", "connection",
        "cookie", "expect", "forwarded", "keep-alive", "pragma", "proxy-authorization", "proxy-connection", "te",
        "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-amzn-trace-id",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    ]

    /// A value with one blank in place of several, and without blanks around it.
    private static func collapsed(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else { return value }
        let words = value.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return words.map { String(Substring($0)) }.joined(separator: " ")
    }

    /// The canonical form of a path.
    static func path(_ path: Substring, as form: PathForm) -> String {
        let path = form == .normalized ? normalized(path) : String(path)
        guard form == .object else { return path.isEmpty ? "/" : PercentCoding.encode(path, keeping: "/") }
        let bytes = PercentCoding.decode(Array(path.utf8)[...], plusIsBlank: false)
        // A key that is not UTF-8 stays as it is, so each segment is encoded as bytes.
        let segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let text = segments.map { String(decoding: PercentCoding.encode($0), as: UTF8.self) }.joined(separator: "/")
        return text.isEmpty ? "/" : text
    }

    private static func normalized(_ path: Substring) -> String {
        var kept: [Substring] = []
        var endsWithSlash = false
        for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
            endsWithSlash = segment.isEmpty || segment == "." || segment == ".."
            if segment == ".." {
                _ = kept.popLast()
            } else if !endsWithSlash {
                kept.append(segment)
            }
        }
        guard !kept.isEmpty else { return "/" }
        return "/" + kept.joined(separator: "/") + (endsWithSlash ? "/" : "")
    }
}
/// The key of one day, and all that its signatures say beside the request.
struct AWSSeal: Sendable {
    /// Signs a text, and writes the signature in hexadecimal digits.
    typealias Sign = @Sendable (_ text: String) throws -> String

    /// The name of the algorithm.
    let algorithm: String
    /// The date and the time, as in `20150830T123600Z`.
    let date: String
    /// The scope, as in `20150830/us-east-1/s3/aws4_request`.
    let scope: String
    let accessKeyID: String
    let sign: Sign

    /// The text that is signed for the hash of a request, or for a part of its content.
    func text(_ part: String = "", of rest: String) -> String { "\(algorithm)\(part)\n\(date)\n\(scope)\n\(rest)" }

    func signature(_ part: String = "", of rest: String) throws -> String { try sign(text(part, of: rest)) }

    /// Signature Version 4: a key is derived from the parts of the scope.
    static func sign(with credentials: AWSCredentials, in scope: String) -> Sign {
        let secret = SymmetricKey(data: Data("AWS4\(credentials.secretAccessKey)".utf8))
        let key = scope.split(separator: "/").reduce(secret) { key, part in
            SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        return { HMAC<SHA256>.authenticationCode(for: Data($0.utf8), using: key).hexText }
    }

    /// Signature Version 4A.
    static func sign(with key: P256.Signing.PrivateKey) -> Sign {
        { try key.signature(for: Data($0.utf8)).derRepresentation.hexText }
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
        let time = 1_000_000 + civil.hour * 10_000 + civil.minute * 100 + civil.second
        return "\(String(day).dropFirst())T\(String(time).dropFirst())Z"
    }
}
#endif
