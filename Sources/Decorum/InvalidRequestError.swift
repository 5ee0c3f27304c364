import Foundation

/// A request that cannot be sent, found out before anything went over the wire.
///
/// The description says what to change. It shows no part of the URL that may hold a secret.
public struct InvalidRequestError: DescribableError, Hashable {
    /// What is wrong with a request, as an open set.
    public struct Reason: Hashable, Sendable {
        /// The name of the reason, fit for a metric.
        public let name: String

        /// Creates a reason of your own.
        ///
        /// - Parameter name: The name of the reason.
        public init(_ name: String) {
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
        /// A number that must not be negative is.
        public static let negativeNumber = Reason("negativeNumber")
    }

    /// What is wrong.
    public let reason: Reason
    /// What is wrong and how to mend it, in a sentence.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: What is wrong.
    ///   - description: A sentence that says how to mend it and holds no secret.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}

extension InvalidRequestError {
    /// The name of the reason.
    public var shortDescription: String { reason.name }

    static let invalidURL = Self(
        .invalidURL, "The URL cannot be parsed; percent-encode blanks and characters outside of ASCII.")
    static let missingOrigin = Self(
        .missingOrigin, "The request has no scheme and host; give it an absolute URL, or apply resolving(against:).")
    static let invalidHost = Self(.invalidHost, "The host is empty or has characters that no host has.")
    static let invalidPort = Self(.invalidPort, "The port is not a number from 0 to 65535.")
    static let userinfo = Self(
        .userinfo, "The URL holds a user name or password; apply authenticating(with: .basic(…)) instead.")
    static let invalidPath = Self(.invalidPath, "The path of a request starts with a slash.")

    static func unsupportedScheme(_ scheme: String) -> Self {
        Self(.unsupportedScheme, "The scheme \(scheme.prefix(32).debugDescription) is neither http nor https.")
    }
}
