#if Signing
public import Decorum
import Foundation

/// A request that could not be signed, or a response that does not have the signature or the digest that it must have.
///
/// A request that cannot be signed is not sent.
public struct SigningError: DescribableError, Hashable {
    /// The reason of a failure.
    public struct Reason: Sendable, Hashable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// The body can be read once, and the signature needs its content before it is sent.
        public static let bodyReadOnce = Reason(name: "bodyReadOnce")
        /// The key is of the wrong kind, or too weak, for the scheme.
        public static let wrongKey = Reason(name: "wrongKey")
        /// The scheme, a component or a parameter cannot be used as it is configured.
        public static let invalidConfiguration = Reason(name: "invalidConfiguration")
        /// The server demands an algorithm that is not known, or its challenge has a mistake.
        public static let unusableChallenge = Reason(name: "unusableChallenge")
        /// The request lacks a part that the signature covers.
        public static let missingComponent = Reason(name: "missingComponent")
        /// No credentials could be found, or those that were found have a mistake.
        public static let noCredentials = Reason(name: "noCredentials")
        /// The response has no signature or no digest.
        public static let missingSignature = Reason(name: "missingSignature")
        /// The signature or the digest of the response does not belong to it, or is out of date.
        public static let invalidSignature = Reason(name: "invalidSignature")
    }

    /// The reason.
    public let reason: Reason
    /// What failed and what to do, in at most two sentences without a secret.
    public let description: String

    /// The name of the reason.
    public var shortDescription: String { reason.name }

    init(_ reason: Reason, _ description: String) {
        (self.reason, self.description) = (reason, description)
    }

    static let bodyReadOnce = SigningError(
        .bodyReadOnce, "The signature covers the body, which can be read once. Give a body of data or of a file.")
}
#endif
