#if Signing
public import Crypto
public import Decorum
import DecorumAuthentication
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
public struct HMACSigner: RequestSigner, SecretHolder {
    /// The name of the field.
    public var description: String { "a signature in \(field)" }

    /// The form of bytes in a text.
    public struct Encoding: Sendable {
        fileprivate let text: @Sendable (Data) -> String

        /// Hexadecimal digits in lower case.
        public static let hex = Encoding { $0.hexText }
        /// Base64 with padding.
        public static let base64 = Encoding { $0.base64EncodedString() }
        /// The Base64 of URLs, without padding.
        public static let base64URL = Encoding { $0.base64URL }
    }

    /// The form of a time.
    public struct TimeForm: Sendable {
        fileprivate let text: @Sendable (Date) -> String

        /// The whole seconds since 1970.
        public static let unixSeconds = TimeForm { String($0.whole()) }
        /// The milliseconds since 1970.
        public static let unixMilliseconds = TimeForm { String($0.whole(unitsPerSecond: 1000)) }
        /// The date of HTTP, as in `Sun, 06 Nov 1994 08:49:37 GMT`.
        public static let httpDate = TimeForm { HTTPDate($0).description }
        /// A date in UTC with whole seconds, as in `1994-11-06T08:49:37Z`.
        public static let iso8601 = TimeForm { Date(timeIntervalSince1970: Double($0.whole())).formatted(.iso8601) }
    }

    /// `field`.
    public let secretFields: Set<HTTPField.Name>
    private let key: SymmetricKey
    private let hash: HashAlgorithm
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
    ///   - clock: The clock of this machine; the times follow the clock of the server, as far as its responses tell it.
    ///   - generator: The source of the nonces.
    public init(
        key: SymmetricKey, hash: HashAlgorithm = .sha256, parts: [Part], separator: String = "\n",
        encoding: Encoding = .hex, field: HTTPField.Name, prefix: String = "", clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) {
        (self.key, self.hash, self.parts, self.separator) = (key, hash, parts, separator)
        (self.encoding, self.field, self.prefix, self.generator) = (encoding, field, prefix, generator)
        secretFields = [field]
        skew = ClockSkew(clock: clock)
    }

    /// Signs a request.
    ///
    /// It throws ``SigningError`` with `missingComponent` for a field that the request does not have, `bodyReadOnce` for a
    /// digest of a body that can be read once, and `invalidConfiguration` for a prefix that no field can have.
    public func sign(_ request: Request) async throws -> Request {
        var request = request
        let date = skew.date(for: try Origin(request.head))
        var texts: [String] = []
        for part in parts { texts.append(try await part.text(&request, date, generator)) }
        let code = hash.code(for: texts.joined(separator: separator), by: key)
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
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }
}

extension HMACSigner {
    /// A part of a request that is signed.
    public struct Part: Sendable {
        fileprivate let text: @Sendable (inout Request, Date, any RandomGenerator) async throws -> String

        /// The method, in capitals as it is sent.
        public static let method = computed { $0.head.method.rawValue }
        /// The host, with the port where it is not the scheme's default.
        public static let authority = computed { try Origin($0.head).authority }
        /// The path as it is sent, without the query.
        public static let path = computed { request in
            let path = request.head.path?.prefix { $0 != "?" } ?? ""
            return path.isEmpty ? "/" : String(path)
        }
        /// The items of the query, encoded anew and sorted.
        public static let query = computed { QueryItem.canonicalText(of: $0.queryItems) }
        /// The path and the query as they are sent.
        public static let target = computed { $0.head.path.flatMap { $0.isEmpty ? nil : $0 } ?? "/" }

        /// A fixed text, such as the name of the key.
        public static func text(_ text: String) -> Part { computed { _ in text } }

        /// A text computed from the request.
        public static func computed(_ text: @escaping @Sendable (Request) async throws -> String) -> Part {
            Part { request, _, _ in try await text(request) }
        }

        /// The value of a field, which the request must have.
        public static func field(_ name: HTTPField.Name) -> Part {
            computed { request in
                if let value = request.head.headerFields[name] { return value }
                throw SigningError(
                    .missingComponent,
                    "The signature covers the field \(name), which the request lacks. Add it further out.")
            }
        }

        /// A digest of the content, which is sent in a field too if one is given.
        public static func contentDigest(
            _ hash: HashAlgorithm = .sha256, encoding: Encoding = .hex, in field: HTTPField.Name? = nil
        ) -> Part {
            Part { request, _, _ in
                let text = encoding.text(try await hash.digest(of: request.body))
                if let field { request.head.headerFields[field] = text }
                return text
            }
        }

        /// The time of the attempt, which is sent in a field.
        public static func timestamp(in field: HTTPField.Name, as form: TimeForm) -> Part {
            Part { request, date, _ in
                let text = form.text(date)
                request.head.headerFields[field] = text
                return text
            }
        }

        /// A random text of 32 hexadecimal digits, another one for each attempt, which is sent in a field.
        public static func nonce(in field: HTTPField.Name) -> Part {
            Part { request, _, generator in
                let text = generator.identifier.hexText
                request.head.headerFields[field] = text
                return text
            }
        }
    }
}
#endif
