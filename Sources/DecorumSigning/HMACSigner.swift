#if Signing
public import Crypto
public import Decorum
import Foundation
public import HTTPTypes

/// Signs requests with an HMAC over chosen parts, in the way of one's own server.
///
/// ```swift
/// let signer = HMACSigner(
///     key: key, parts: [.method, .path, .query, .timestamp(in: .date, as: .httpDate), .contentDigest()],
///     encoding: .base64, field: .authorization, prefix: "Acme key-1:")
/// let connection = SystemConnection().authenticating(with: .signer(signer), for: api)
/// ```
///
/// The texts of the parts, joined by the separator, are what is signed. A scheme whose form is not one of these is a
/// `RequestSigner` of your own; for a standard, see ``SigningKey``.
public struct HMACSigner: RequestSigner {
    /// A hash function.
    public enum Hash: Sendable, Hashable {
        /// SHA-256.
        case sha256
        /// SHA-384.
        case sha384
        /// SHA-512.
        case sha512
        /// SHA-1, for old servers.
        case sha1
        /// MD5, for old servers.
        case md5

        fileprivate func digest(of body: Body) async throws -> Data {
            var function: any HashFunction =
                switch self {
                case .sha256: SHA256()
                case .sha384: SHA384()
                case .sha512: SHA512()
                case .sha1: Insecure.SHA1()
                case .md5: Insecure.MD5()
                }
            guard body.replay > .once || body.isEmpty else {
                throw SigningError(
                    .bodyReadOnce,
                    "The signature covers the body, which can be read once. Give a body of data or of a file.")
            }
            for try await chunk in body {
                try Task.checkCancellation()
                function.update(data: chunk)
            }
            return function.digestData
        }

        fileprivate func code(for data: Data, using key: SymmetricKey) -> Data {
            switch self {
            case .sha256: Data(HMAC<SHA256>.authenticationCode(for: data, using: key))
            case .sha384: Data(HMAC<SHA384>.authenticationCode(for: data, using: key))
            case .sha512: Data(HMAC<SHA512>.authenticationCode(for: data, using: key))
            case .sha1: Data(HMAC<Insecure.SHA1>.authenticationCode(for: data, using: key))
            case .md5: Data(HMAC<Insecure.MD5>.authenticationCode(for: data, using: key))
            }
        }
    }

    /// The form of bytes in a text.
    public enum Encoding: Sendable, Hashable {
        /// Hexadecimal digits in lower case.
        case hex
        /// Base64 with padding.
        case base64
        /// The Base64 of URLs, without padding.
        case base64URL

        fileprivate func text(_ data: Data) -> String {
            switch self {
            case .hex: data.hexText
            case .base64: data.base64EncodedString()
            case .base64URL: data.base64URL
            }
        }
    }

    /// The form of a time.
    public enum TimeForm: Sendable, Hashable {
        /// The whole seconds since 1970.
        case unixSeconds
        /// The milliseconds since 1970.
        case unixMilliseconds
        /// The date of HTTP, as in `Sun, 06 Nov 1994 08:49:37 GMT`.
        case httpDate
        /// A date in UTC with whole seconds, as in `1994-11-06T08:49:37Z`.
        case iso8601

        fileprivate func text(_ date: Date) -> String {
            switch self {
            case .unixSeconds: String(date.wholeSeconds)
            case .unixMilliseconds: String(date.wholeMilliseconds)
            case .httpDate: HTTPDate(date).description
            case .iso8601: Date(timeIntervalSince1970: Double(date.wholeSeconds)).formatted(.iso8601)
            }
        }
    }

    /// `field`.
    public let secretFields: Set<HTTPField.Name>
    private let key: SymmetricKey
    private let hash: Hash
    private let parts: [Part]
    private let separator: String
    private let encoding: Encoding
    private let field: HTTPField.Name
    private let prefix: String
    private let skew: ClockSkew
    private let generator: any RandomGenerator

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: The key, which the server knows too.
    ///   - hash: The hash function of the HMAC.
    ///   - parts: The parts that are signed, in order.
    ///   - separator: The text between the parts.
    ///   - encoding: The form of the signature.
    ///   - field: The field of the signature.
    ///   - prefix: The text before the signature in the field, such as a scheme and the name of the key.
    ///   - clock: The clock of this machine; the times are those of the server, as far as its responses tell them.
    ///   - generator: The source of the nonces.
    public init(
        key: SymmetricKey, hash: Hash = .sha256, parts: [Part], separator: String = "\n", encoding: Encoding = .hex,
        field: HTTPField.Name, prefix: String = "", clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) {
        (self.key, self.hash, self.parts, self.separator) = (key, hash, parts, separator)
        (self.encoding, self.field, self.prefix, self.generator) = (encoding, field, prefix, generator)
        secretFields = [field]
        skew = ClockSkew(clock: clock)
    }

    /// Signs a request.
    ///
    /// - Parameter request: The request.
    /// - Returns: The request with the signature, and the fields of the parts.
    /// - Throws: ``SigningError`` with `missingComponent` for a field that the request does not have, `bodyReadOnce` for a
    ///   digest of a body that can be read once, and `invalidConfiguration` for a prefix that no field can have.
    public func sign(_ request: Request) async throws -> Request {
        var request = request
        let facts = Part.Facts(date: skew.date(for: try Origin(request.head)), generator: generator)
        var texts: [String] = []
        for part in parts { texts.append(try await part.text(&request, facts)) }
        let code = hash.code(for: Data(texts.joined(separator: separator).utf8), using: key)
        let value = prefix + encoding.text(code)
        guard HTTPField.isValidValue(value) else {
            throw SigningError(
                .invalidConfiguration,
                "The prefix of the signature has a character that no field has. Remove line breaks.")
        }
        request.head.headerFields[field] = value
        return request
    }

    /// Learns the time of the server.
    ///
    /// - Parameter answer: The response.
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }
}

extension HMACSigner: SecretHolder {
    /// The name of the field.
    public var description: String { "a signature in \(field)" }
}

extension HMACSigner {
    /// A part of a request that is signed.
    public struct Part: Sendable {
        fileprivate struct Facts {
            let date: Date
            let generator: any RandomGenerator
        }

        fileprivate let text: @Sendable (inout Request, Facts) async throws -> String

        /// A text computed from the request.
        ///
        /// - Parameter text: Computes the text.
        /// - Returns: The part.
        public static func computed(_ text: @escaping @Sendable (Request) async throws -> String) -> Part {
            Part { request, _ in try await text(request) }
        }

        /// A fixed text.
        ///
        /// - Parameter text: The text, such as the name of the key.
        /// - Returns: The part.
        public static func text(_ text: String) -> Part { Part { _, _ in text } }

        /// The method, in capitals as it is sent.
        public static let method = Part { request, _ in request.head.method.rawValue }
        /// The host, with the port where it is not the scheme's default.
        public static let authority = Part { request, _ in try Origin(request.head).authority }
        /// The path as it is sent, without the query.
        public static let path = Part { request, _ in
            let path = request.head.path?.prefix { $0 != "?" } ?? ""
            return path.isEmpty ? "/" : String(path)
        }
        /// The items of the query, encoded anew and sorted.
        public static let query = Part { request, _ in QueryItem.canonicalText(of: request.queryItems) }
        /// The path and the query as they are sent.
        public static let target = Part { request, _ in request.head.path.flatMap { $0.isEmpty ? nil : $0 } ?? "/" }

        /// The value of a field, which the request must have.
        ///
        /// - Parameter name: The name of the field.
        /// - Returns: The part.
        public static func field(_ name: HTTPField.Name) -> Part {
            Part { request, _ in
                guard let value = request.head.headerFields[name] else {
                    throw SigningError(
                        .missingComponent,
                        "The signature covers the field \(name), which the request lacks. Add it further out.")
                }
                return value
            }
        }

        /// A digest of the content.
        ///
        /// - Parameters:
        ///   - hash: The hash function.
        ///   - encoding: The form of the digest.
        ///   - field: The field that the digest is sent in too; nil for none.
        /// - Returns: The part.
        public static func contentDigest(
            _ hash: Hash = .sha256, encoding: Encoding = .hex, in field: HTTPField.Name? = nil
        ) -> Part {
            Part { request, _ in
                let text = encoding.text(try await hash.digest(of: request.body))
                if let field { request.head.headerFields[field] = text }
                return text
            }
        }

        /// The time of the attempt.
        ///
        /// - Parameters:
        ///   - field: The field that the time is sent in.
        ///   - form: Its form.
        /// - Returns: The part.
        public static func timestamp(in field: HTTPField.Name, as form: TimeForm) -> Part {
            Part { request, facts in
                let text = form.text(facts.date)
                request.head.headerFields[field] = text
                return text
            }
        }

        /// A random text of 32 hexadecimal digits, another one for each attempt.
        ///
        /// - Parameter field: The field that it is sent in.
        /// - Returns: The part.
        public static func nonce(in field: HTTPField.Name) -> Part {
            Part { request, facts in
                let text = facts.generator.bytes(16).hexText
                request.head.headerFields[field] = text
                return text
            }
        }
    }
}

extension HashFunction {
    fileprivate var digestData: Data { Data(Array(finalize())) }
}
#endif
