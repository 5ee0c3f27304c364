import Foundation

/// Which redirections ``Connection/followingRedirects(upTo:policy:clock:)`` follows.
///
/// Every policy refuses to go from `https` to `http`, and to send a request's body to another origin, until
/// ``allowingDowngrades()`` and ``allowingBodiesAcrossOrigins()`` say otherwise.
///
/// ```swift
/// let trusted = RedirectionPolicy("trusted hosts") { redirection in
///     redirection.to.host()?.hasSuffix(".example.com") == true
/// }
/// let connection = SystemConnection()
///     .followingRedirects(policy: .httpsOnly.and(trusted))
/// ```
public struct RedirectionPolicy: Sendable, CustomStringConvertible {
    /// Decides about one redirection, whose ``Redirection/to`` has not been requested yet.
    public typealias Rule = @Sendable (_ redirection: Redirection) async throws -> Bool

    /// The name of the policy, for ``Connection/layers``.
    public private(set) var description: String
    private(set) var allowsDowngrades = false
    private(set) var allowsBodiesAcrossOrigins = false
    let rule: Rule

    /// Creates a policy from a rule.
    ///
    /// - Parameters:
    ///   - description: The name of the policy, for ``Connection/layers``.
    ///   - rule: Tells whether to follow a redirection; what it throws reaches the caller of the connection.
    public init(_ description: String, _ rule: @escaping Rule) {
        self.description = description
        self.rule = rule
    }

    /// Follows to every origin, over `http` only from `http`.
    public static let standard = RedirectionPolicy("standard") { _ in true }

    /// Follows to the same scheme, host and port alone.
    public static let sameOrigin = RedirectionPolicy("sameOrigin") { !$0.crossesOrigins }

    /// Follows to `https` alone.
    public static let httpsOnly = RedirectionPolicy("httpsOnly") { $0.to.scheme == "https" }

    /// Allows what both policies allow.
    ///
    /// - Parameter other: The policy that is asked second, unless this one refuses.
    /// - Returns: A policy that is as strict as both together.
    public func and(_ other: RedirectionPolicy) -> RedirectionPolicy {
        var both = RedirectionPolicy("\(self) and \(other)") { [rule] redirection in
            guard try await rule(redirection) else { return false }
            return try await other.rule(redirection)
        }
        both.allowsDowngrades = allowsDowngrades && other.allowsDowngrades
        both.allowsBodiesAcrossOrigins = allowsBodiesAcrossOrigins && other.allowsBodiesAcrossOrigins
        return both
    }

    /// Allows to go from `https` to `http`, where everybody on the way can read along.
    ///
    /// - Returns: A policy with the same rule.
    public func allowingDowngrades() -> RedirectionPolicy {
        var policy = self
        policy.allowsDowngrades = true
        policy.description += ", downgrades"
        return policy
    }

    /// Allows to send a request's body again to another origin that a server names.
    ///
    /// - Returns: A policy with the same rule.
    public func allowingBodiesAcrossOrigins() -> RedirectionPolicy {
        var policy = self
        policy.allowsBodiesAcrossOrigins = true
        policy.description += ", bodies across origins"
        return policy
    }
}
