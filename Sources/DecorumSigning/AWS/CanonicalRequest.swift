#if Signing
import Crypto
import Decorum
import Foundation
import HTTPTypes

/// The canonical form of a request, whose hash Signature Version 4 and 4A sign.
struct CanonicalRequest: Sendable, Equatable {
    /// The way in which a service reads the path before it checks the signature.
    struct PathRules: Sendable, Hashable {
        /// Whether empty segments and the segments `.` and `..` are removed.
        var normalizes = true
        /// Whether the path is encoded once more, as it was sent; otherwise it is signed as encoded once.
        var encodesTwice = true

        /// The rules of S3, whose keys may have any characters, and empty and dotted segments.
        static let objects = PathRules(normalizes: false, encodesTwice: false)
    }

    /// The whole text.
    let text: String
    /// The names of the signed fields, joined by semicolons.
    let signedFields: String
    /// The items of the query, with the ones that are added.
    let query: String

    /// Writes the canonical form.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The path and the query, as they are sent.
    ///   - fields: The fields to sign, with `host`; see ``signable(_:host:)``.
    ///   - items: Items that are added to the query.
    ///   - contentHash: The hash of the content in hexadecimal digits, or the word in place of it.
    ///   - rules: How the service reads the path.
    init(
        method: String, target: String, fields: [Field], adding items: [QueryItem] = [], contentHash: String,
        rules: PathRules
    ) {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        var items = items
        if let mark { items += QueryItem.items(of: target[mark...].dropFirst(), plusIsBlank: false) }
        query = items.isEmpty ? "" : QueryItem.canonicalText(of: items)
        signedFields = Self.names(of: fields)
        // Appending takes half the time of interpolation.
        var text = method
        text += "\n"
        text += Self.path(target[..<(mark ?? target.endIndex)], rules: rules)
        text += "\n"
        text += query
        text += "\n"
        for field in fields {
            text += field.name
            text += ":"
            text += field.value
            text += "\n"
        }
        text += "\n"
        text += signedFields
        text += "\n"
        self.text = text + contentHash
    }

    /// A field by its name in lower case, and all its values.
    struct Field: Sendable, Equatable {
        let name: String
        var value: String
    }

    /// The names of fields, joined by semicolons.
    static func names(of fields: [Field]) -> String { fields.map(\.name).joined(separator: ";") }

    /// The fields of a request that are signed, sorted by their names.
    ///
    /// Fields that transports and proxies write or change are left out, and so are those that belong to no service.
    static func signable(_ fields: HTTPFields, host: String) -> [Field] {
        var sorted: [Field] = []
        sorted.reserveCapacity(fields.count + 1)
        var hasHost = false
        for field in fields {
            let name = field.name.canonicalName
            guard !unsigned.contains(name) else { continue }
            hasHost = hasHost || name == "host"
            sorted.append(Field(name: name, value: trimmed(field.value)))
        }
        if !hasHost { sorted.append(Field(name: "host", value: host)) }
        // The order of values with the same name counts, so the sort must keep it.
        let order = sorted.indices.sorted { (sorted[$0].name, $0) < (sorted[$1].name, $1) }
        var joined: [Field] = []
        joined.reserveCapacity(order.count)
        for index in order {
            if joined.last?.name == sorted[index].name {
                joined[joined.count - 1].value += "," + sorted[index].value
            } else {
                joined.append(sorted[index])
            }
        }
        return joined
    }

    private static let unsigned: Set<String> = [
        "accept", "accept-encoding", "accept-language", "authorization", "baggage", "cache-control", "connection",
        "cookie", "expect", "forwarded", "keep-alive", "pragma", "proxy-authorization", "proxy-connection", "te",
        "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-amzn-trace-id",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    ]

    /// A value without blanks around it, and with one blank in place of several.
    private static func trimmed(_ value: String) -> String {
        var previous = UInt8(ascii: " ")
        let isPlain = value.utf8.allSatisfy { byte in
            defer { previous = byte }
            return byte != UInt8(ascii: "\t") && (byte != UInt8(ascii: " ") || previous != byte)
        }
        if isPlain, previous != UInt8(ascii: " ") { return value }
        return value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }

    /// The canonical form of a path.
    static func path(_ path: Substring, rules: PathRules) -> String {
        let path = rules.normalizes ? normalized(path) : String(path)
        let isPlain = path.utf8.allSatisfy { $0.isUnreserved || $0 == UInt8(ascii: "/") }
        guard !isPlain else { return path.isEmpty ? "/" : path }
        guard !rules.encodesTwice else { return PercentCoding.encode(path, keeping: "/") }
        let bytes = PercentCoding.decode(Array(path.utf8)[...], plusIsBlank: false)
        // A key that is not UTF-8 stays as it is, so each segment is encoded as bytes.
        let segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return segments.map { String(decoding: PercentCoding.encode($0), as: UTF8.self) }.joined(separator: "/")
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

extension UInt8 {
    /// Whether this is an unreserved character (RFC 3986, section 2.3).
    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// A date in the form of AWS, with whole seconds in UTC.
struct AWSDate: Sendable, Hashable {
    /// The date and the time, as in `20150830T123600Z`.
    let text: String

    /// The date, as in `20150830`.
    var day: String { String(text.prefix(8)) }

    init(_ date: Date) {
        let civil = CivilDate(seconds: HTTPDate(date).seconds)
        var digits: [UInt8] = []
        digits.reserveCapacity(16)
        digits.write(civil.year / 100)
        for number in [civil.year % 100, civil.month, civil.day] { digits.write(number) }
        digits.append(UInt8(ascii: "T"))
        for number in [civil.hour, civil.minute, civil.second] { digits.write(number) }
        digits.append(UInt8(ascii: "Z"))
        text = String(decoding: digits, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends the two last digits of a number.
    fileprivate mutating func write(_ number: Int) {
        let number = Swift.max(0, number) % 100
        append(UInt8(ascii: "0") + UInt8(number / 10))
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}

/// The key of one day and all that a signature says beside it.
struct AWSSeal: Sendable {
    enum Key: Sendable {
        /// The derived key of Signature Version 4.
        case symmetric(SymmetricKey)
        /// The derived key of Signature Version 4A.
        case asymmetric(P256.Signing.PrivateKey)
    }

    let key: Key
    let date: AWSDate
    /// The scope, as in `20150830/us-east-1/s3/aws4_request`.
    let scope: String
    let accessKeyID: String

    /// The name of the algorithm.
    var algorithm: String {
        switch key {
        case .symmetric: "AWS4-HMAC-SHA256"
        case .asymmetric: "AWS4-ECDSA-P256-SHA256"
        }
    }

    /// The text that is signed for a request.
    func stringToSign(_ request: CanonicalRequest) -> String {
        "\(algorithm)\n\(date.text)\n\(scope)\n\(SHA256.hash(data: Data(request.text.utf8)).hexText)"
    }

    /// The signature of a text, in hexadecimal digits.
    func signature(of text: String) throws -> String {
        switch key {
        case .symmetric(let key):
            HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key).hexText
        case .asymmetric(let key): try key.signature(for: Data(text.utf8)).derRepresentation.hexText
        }
    }
}

extension AWSSeal: SecretHolder {
    /// The scope, without the key.
    var description: String { "a key for \(scope)" }
}

extension AWSSeal.Key: SecretHolder {
    var description: String { "redacted" }
}
#endif
