import Foundation

/// A request was not sent, because the policy of the stack does not allow its host or its scheme.
public struct HostPolicyError: DescribableError, Hashable {
    /// The reason why a request is refused, as an open set.
    public struct Reason: Sendable, Hashable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// Creates a custom reason.
        ///
        /// - Parameter name: The name of the reason.
        public init(_ name: String) {
            self.name = name
        }

        /// The host is blocked.
        public static let blocked = Reason("blocked")
        /// The policy allows some hosts, and this is none of them.
        public static let notAllowed = Reason("notAllowed")
        /// The request would go over http, which is not encrypted.
        public static let notEncrypted = Reason("notEncrypted")
    }

    /// The reason.
    public let reason: Reason
    /// The origin that the request would have been sent to.
    public let origin: Origin
    /// Whether a server has named the origin by a redirection.
    public let isRedirected: Bool

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - origin: The origin that the request would have been sent to.
    ///   - isRedirected: Whether a server has named the origin by a redirection.
    public init(_ reason: Reason, origin: Origin, isRedirected: Bool) {
        self.reason = reason
        self.origin = origin
        self.isRedirected = isRedirected
    }

    /// The name of the reason.
    public var shortDescription: String { reason.name }

    /// The origin, the reason, and the change that lets the request pass.
    public var description: String {
        let request = isRedirected ? "A redirection leads to \(origin), which" : "The request is for \(origin), which"
        switch reason {
        case .blocked:
            return "\(request) the host policy blocks. Remove the pattern from `blocking` if the host is intended."
        case .notAllowed:
            return
                "\(request) is none of the hosts that the host policy allows. Add \(origin.host) by `allowing` if it "
                + "is intended."
        case .notEncrypted:
            return
                "\(request) is not encrypted. Use https, or name \(origin.host) by `allowingPlainHTTP(to:)`, as for a "
                + "server on this machine."
        default: return "\(request) the host policy refuses: \(reason.name)."
        }
    }
}
