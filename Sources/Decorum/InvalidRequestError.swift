import Foundation

/// A request that cannot be sent; the error is thrown before anything is sent.
///
/// The description says what to change. It shows no part of the URL that may hold a secret.
public struct InvalidRequestError: DescribableError, Hashable {
    /// The reason why a request cannot be sent, as an open set.
    public struct Reason: Hashable, Sendable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// Creates a custom reason.
        ///
        /// - Parameter name: The name of the reason.
        package init(_ name: String) {
            self.name = name
        }

        /// The URL cannot be parsed.
        public static let invalidURL = Reason("invalidURL")
        /// The scheme is neither `http` nor `https`.
        public static let unsupportedScheme = Reason("unsupportedScheme")
        /// The request names no scheme and host.
        public static let missingOrigin = Reason("missingOrigin")
        /// The host is empty or has characters that no host has.
        public static let invalidHost = Reason("invalidHost")
        /// The port is not a number from 0 to 65535.
        public static let invalidPort = Reason("invalidPort")
        /// The URL holds a user name or password.
        public static let userinfo = Reason("userinfo")
        /// The path does not start with a slash.
        public static let invalidPath = Reason("invalidPath")
        /// A field's value has a line break or another control character.
        public static let invalidField = Reason("invalidField")
        /// The method and the body do not go together, or the platform cannot send them together.
        public static let invalidBody = Reason("invalidBody")
        /// The session of the app is one of the background, which cannot send the requests of a connection.
        public static let backgroundSession = Reason("backgroundSession")
        /// A number is negative where it must not be.
        public static let negativeNumber = Reason("negativeNumber")
    }

    /// The reason why the request cannot be sent.
    public let reason: Reason
    /// A sentence that says what is wrong and how to correct it.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - description: A sentence that says how to correct the request and holds no secret.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}

extension InvalidRequestError {
    /// The name of the reason.
    public var shortDescription: String { reason.name }

    static let invalidURL = Self(
        .invalidURL, "The URL cannot be parsed; percent-encode what a URL cannot contain (RFC 3986), such as blanks.")
    static let missingOrigin = Self(
        .missingOrigin,
        "The request has no scheme and host; give it an absolute URL, or the stack a base URL: `StandardStack(for:)` or "
            + "`resolving(against:)`.")
    static let missingScheme = Self(
        .missingOrigin,
        "The URL has no scheme. A URL that begins with two slashes names another host: write https:// and the host, or "
            + "begin a path with one slash.")
    static let invalidHost = Self(.invalidHost, "The host is empty or has characters that no host has.")
    static let emptyHost = Self(.invalidHost, "The URL names no host; a host comes after the scheme and two slashes.")
    static let invalidAddress = Self(
        .invalidHost, "The host of the URL begins with “[”, and is no IPv6 address; write one as in [2001:db8::1].")
    static let userinfo = Self(
        .userinfo, "The URL holds a user name or password; apply authenticating(with: .basic(…)) instead.")
    static let invalidPath = Self(.invalidPath, "The path of a request starts with a slash.")

    static func unsupportedScheme(_ scheme: String) -> Self {
        Self(.unsupportedScheme, "The scheme \(scheme.prefix(32).debugDescription) is neither http nor https.")
    }

    /// A URL or a head that lacks its scheme, its host or both.
    static func incomplete(scheme: String?, authority: String?) -> Self {
        switch (scheme, authority) {
        case ("http", nil), ("https", nil): .emptyHost
        // The text before the colon of `localhost:8080` is a scheme too (RFC 3986, section 3.1).
        case (let scheme?, nil):
            Self(
                .unsupportedScheme,
                "The scheme \(scheme.prefix(32).debugDescription) is neither http nor https; if it is a host, write "
                    + "https:// before it.")
        case (nil, _?): .missingScheme
        default: .missingOrigin
        }
    }
}

/// The errors that show the place of what is wrong, without the text around it, which may be secret.
extension InvalidRequestError {
    /// A URL that cannot be parsed.
    static func invalidURL(_ url: String) -> Self {
        // The parser itself encodes characters outside of ASCII.
        guard let place = CharacterPlace(in: url, where: { $0.isASCII && !$0.isAllowedInURL }) else {
            return .invalidURL
        }
        return Self(
            .invalidURL,
            "The URL cannot be parsed because of \(place); remove it, or encode it with `PercentCoding.encode`.")
    }

    /// A path of a head with a character that has to be encoded.
    static func unencodedPath(_ path: String) -> Self {
        guard let place = CharacterPlace(in: path, where: { !$0.isAllowedInURL || $0 == "#" }) else {
            return .invalidURL
        }
        return Self(
            .invalidURL,
            "The path of the request cannot be sent because of \(place); encode it with `PercentCoding.encode`.")
    }

    static func invalidHost(_ host: String) -> Self {
        guard !host.isEmpty else { return .emptyHost }
        let isAllowed = { (scalar: Unicode.Scalar) in
            scalar.isAllowedInURL && !":/?#[]@%".unicodeScalars.contains(scalar)
        }
        if host.hasPrefix("[") { return .invalidAddress }
        guard let place = CharacterPlace(in: host, where: { !isAllowed($0) }) else {
            return .invalidHost
        }
        let advice = place.scalar.isASCII ? "a host has no such character" : "give the name in its `xn--` form"
        return Self(.invalidHost, "The host of the URL cannot be used because of \(place); \(advice).")
    }

    static func invalidPort(_ port: some StringProtocol) -> Self {
        let isNumber = port.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let shown = isNumber && !port.isEmpty ? "port \(port.prefix(20))" : "text after the colon of the host"
        return Self(.invalidPort, "The \(shown) is no port, which is a number from 0 to 65535.")
    }
}

/// The first character of a text that is not allowed there.
private struct CharacterPlace: CustomStringConvertible {
    let scalar: Unicode.Scalar
    /// From 1.
    let number: Int

    init?(in text: String, where isFaulty: (Unicode.Scalar) -> Bool) {
        guard let (offset, scalar) = text.unicodeScalars.enumerated().first(where: { isFaulty($0.element) }) else {
            return nil
        }
        self.scalar = scalar
        number = offset + 1
    }

    var description: String {
        let code = "U+" + String(repeating: "0", count: max(0, 4 - hexadecimal.count)) + hexadecimal
        return switch scalar {
        case " ": "the blank at character \(number)"
        case "\n", "\r": "the line break at character \(number)"
        case "!"..."~": "“\(scalar)” at character \(number)"
        default: "\(code) at character \(number)"
        }
    }

    private var hexadecimal: String { String(scalar.value, radix: 16, uppercase: true) }
}

extension Unicode.Scalar {
    /// Whether this is `reserved`, `unreserved` or a percent sign (RFC 3986, section 2).
    fileprivate var isAllowedInURL: Bool {
        switch self {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~", ":", "/", "?", "#", "[", "]", "@", "!", "$", "&", "'",
            "(", ")", "*", "+", ",", ";", "=", "%":
            true
        default: false
        }
    }
}
