import Foundation

/// Which redirections ``Connection/followingRedirects(upTo:policy:clock:)`` follows.
///
/// Every policy refuses redirections from `https` to `http` and sending a request's body to another origin.
/// ``allowingDowngrades()`` and ``allowingBodiesAcrossOrigins()`` allow them.
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
    ///   - rule: Returns whether to follow a redirection; its errors are thrown to the caller of the connection.
    public init(_ description: String, _ rule: @escaping Rule) {
        self.description = description
        self.rule = rule
    }

    /// The bytes that are read of the body of a redirection that is followed, so that its connection can be used again.
    static let bodyLimit = Body.discardLimit
    /// The time in which they are read; a longer or slower body is dropped.
    static let bodyTime = Body.discardTime

    /// Follows to every origin, but to `http` only from `http`.
    public static let standard = RedirectionPolicy("standard") { _ in true }

    /// Follows only to the same scheme, host and port.
    public static let sameOrigin = RedirectionPolicy("sameOrigin") { !$0.crossesOrigins }

    /// Follows only to `https`.
    public static let httpsOnly = RedirectionPolicy("httpsOnly") { $0.to.scheme == "https" }

    /// Allows a redirection only if both policies allow it.
    ///
    /// - Parameter other: The second policy; its rule is called only if this policy allows the redirection.
    /// - Returns: A policy with the restrictions of both.
    public func and(_ other: RedirectionPolicy) -> RedirectionPolicy {
        var both = RedirectionPolicy("\(self) and \(other)") { [rule] redirection in
            guard try await rule(redirection) else { return false }
            return try await other.rule(redirection)
        }
        both.allowsDowngrades = allowsDowngrades && other.allowsDowngrades
        both.allowsBodiesAcrossOrigins = allowsBodiesAcrossOrigins && other.allowsBodiesAcrossOrigins
        return both
    }

    /// Allows redirections from `https` to `http`, which is not encrypted.
    ///
    /// - Returns: A policy with the same rule.
    public func allowingDowngrades() -> RedirectionPolicy {
        var policy = self
        policy.allowsDowngrades = true
        policy.description += ", downgrades"
        return policy
    }

    /// Allows sending the body of a request again to another origin that a server names.
    ///
    /// - Returns: A policy with the same rule.
    public func allowingBodiesAcrossOrigins() -> RedirectionPolicy {
        var policy = self
        policy.allowsBodiesAcrossOrigins = true
        policy.description += ", bodies across origins"
        return policy
    }
}
