import Foundation

/// A request that cannot be sent; the error is thrown before anything is sent.
///
/// The description says what to change. It shows no part of the URL that may hold a secret.
public struct InvalidRequestError: DescribableError, Hashable {
    /// The reason why a request cannot be sent.
    public struct Reason: Hashable, Sendable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// Creates a reason of a layer or a transport of one's own.
        public init(_ name: String) {
            self.name = name
        }

        /// The URL cannot be parsed.
        package static let invalidURL = Reason("invalidURL")
        /// The scheme is neither `http` nor `https`.
        package static let unsupportedScheme = Reason("unsupportedScheme")
        /// The request names no scheme and host.
        package static let missingOrigin = Reason("missingOrigin")
        /// The host is empty or has characters that no host has.
        package static let invalidHost = Reason("invalidHost")
        /// The port is not a number from 0 to 65535.
        package static let invalidPort = Reason("invalidPort")
        /// The URL holds a user name or password.
        package static let userinfo = Reason("userinfo")
        /// The path does not start with a slash.
        package static let invalidPath = Reason("invalidPath")
        /// A field's value has a line break or another control character.
        package static let invalidField = Reason("invalidField")
        /// The method and the body do not go together, or the platform cannot send them together.
        package static let invalidBody = Reason("invalidBody")
        /// The session of the app is one of the background, which cannot send the requests of a connection.
        package static let backgroundSession = Reason("backgroundSession")
        /// A number is negative where it must not be.
        package static let negativeNumber = Reason("negativeNumber")
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
        .invalidURL, "The URL cannot be parsed; encode characters such as blanks with `PercentCoding.encode`.")
    static let missingOrigin = Self(
        .missingOrigin,
        "The URL has no scheme or no host; write it as in https://api.example.com/, or give the stack a base URL: "
            + "`StandardStack(for:)` or `resolving(against:)`.")
    static let invalidHost = Self(
        .invalidHost,
        "The URL names no host, or one with characters that no host has; write an international name in its `xn--` form, "
            + "and an IPv6 address in brackets.")
    static let invalidPort = Self(.invalidPort, "The port is not a number from 0 to 65535.")
    static let userinfo = Self(
        .userinfo, "The URL holds a user name or password; apply authenticating(with: .basic(…)) instead.")
    static let invalidPath = Self(.invalidPath, "The path of a request starts with a slash.")

    static func unsupportedScheme(_ scheme: String) -> Self {
        Self(
            .unsupportedScheme,
            "The scheme \(scheme.prefix(32).debugDescription) is neither http nor https; if it is a host, write https:// "
                + "before it.")
    }

    /// A URL or a head that lacks its scheme, its host or both.
    static func incomplete(scheme: String?, authority: String?) -> Self {
        switch (scheme, authority) {
        case ("http", nil), ("https", nil): .invalidHost
        // The text before the colon of `localhost:8080` is a scheme too (RFC 3986, section 3.1).
        case (let scheme?, nil): .unsupportedScheme(scheme)
        default: .missingOrigin
        }
    }
}
