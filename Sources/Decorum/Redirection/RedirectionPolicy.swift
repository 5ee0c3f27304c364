public import Foundation

/// Which redirections ``Connection/followingRedirects(upTo:policy:remembering:clock:)`` follows.
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

    /// Returns another target for a redirection, or nil to keep its ``Redirection/to``.
    public typealias Rewrite = @Sendable (_ redirection: Redirection) async throws -> URL?

    /// The name of the policy, for ``Connection/layers``.
    public private(set) var description: String
    private(set) var allowsDowngrades = false
    private(set) var allowsBodiesAcrossOrigins = false
    private var rewrites: [Rewrite] = []
    /// Whether this is one of the policies of this package, which a file can name.
    private(set) var isNamed = false
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

    private init(named name: String, _ rule: @escaping Rule) {
        self.init(name, rule)
        isNamed = true
    }

    /// Follows to every origin, but to `http` only from `http`.
    public static let standard = RedirectionPolicy(named: "standard") { _ in true }

    /// Follows no redirection: the response that redirects is the answer.
    public static let never = RedirectionPolicy(named: "never") { _ in false }

    /// Not a policy, since `.none` as a value of ``RequestOptions/redirectionPolicy`` means nil, and so the policy of the layer.
    @available(*, unavailable, message: "Write .never to follow no redirection, or nil for the policy of the layer.")
    public static let none = RedirectionPolicy("none") { _ in false }

    /// Follows only to the same scheme, host and port.
    public static let sameOrigin = RedirectionPolicy(named: "sameOrigin") { !$0.crossesOrigins }

    /// Follows only to `https`.
    public static let httpsOnly = RedirectionPolicy(named: "httpsOnly") { $0.to.scheme == "https" }

    /// Allows a redirection only if both policies allow it.
    ///
    /// - Parameter other: The second policy; its rule is called only if this policy allows the redirection.
    /// - Returns: A policy with the restrictions of both. Targets are rewritten by this policy, then by the other, before
    ///   any rule is called.
    public func and(_ other: RedirectionPolicy) -> RedirectionPolicy {
        var both = RedirectionPolicy("\(self) and \(other)") { [rule] redirection in
            guard try await rule(redirection) else { return false }
            return try await other.rule(redirection)
        }
        both.allowsDowngrades = allowsDowngrades && other.allowsDowngrades
        both.allowsBodiesAcrossOrigins = allowsBodiesAcrossOrigins && other.allowsBodiesAcrossOrigins
        both.rewrites = rewrites + other.rewrites
        return both
    }

    /// Rewrites the targets of redirections before the rule of the policy decides about them.
    ///
    /// ```swift
    /// let upgrading = RedirectionPolicy.standard.rewriting("to https") { redirection in
    ///     var target = URLComponents(url: redirection.to, resolvingAgainstBaseURL: true)
    ///     target?.scheme = "https"
    ///     return target?.url
    /// }
    /// ```
    ///
    /// A rewritten target is treated as if the server had named it: other origins get no secrets, a downgrade to `http`
    /// is refused unless the policy allows it, and a body is not sent to another origin.
    ///
    /// - Parameters:
    ///   - description: The name of the rewriting, for ``Connection/layers``.
    ///   - rewrite: Returns the target to request instead; its errors are thrown to the caller of the connection. It gets
    ///     each redirection whose `Location` can be requested, also one that the policy would refuse.
    /// - Returns: A policy with the same rule.
    public func rewriting(_ description: String, _ rewrite: @escaping Rewrite) -> RedirectionPolicy {
        changed("rewriting \(description)") { $0.rewrites.append(rewrite) }
    }

    /// Whether targets are rewritten.
    var isRewriting: Bool { !rewrites.isEmpty }

    /// The target of a redirection after all rewriting.
    func target(of redirection: Redirection) async throws -> URL {
        var redirection = redirection
        for rewrite in rewrites {
            guard let target = try await rewrite(redirection) else { continue }
            redirection = Redirection(
                status: redirection.status, method: redirection.method, from: redirection.from, to: target)
        }
        return redirection.to
    }

    /// Allows redirections from `https` to `http`, which is not encrypted.
    ///
    /// - Returns: A policy with the same rule.
    public func allowingDowngrades() -> RedirectionPolicy {
        changed("downgrades") { $0.allowsDowngrades = true }
    }

    /// Allows sending the body of a request again to another origin that a server names.
    ///
    /// - Returns: A policy with the same rule.
    public func allowingBodiesAcrossOrigins() -> RedirectionPolicy {
        changed("bodies across origins") { $0.allowsBodiesAcrossOrigins = true }
    }

    private func changed(_ words: String, _ change: (inout RedirectionPolicy) -> Void) -> RedirectionPolicy {
        var policy = self
        change(&policy)
        policy.isNamed = false
        policy.description += ", \(words)"
        return policy
    }
}

extension RequestOptions {
    /// The redirection policy for this request, nil to use the policy of the stack.
    ///
    /// ```swift
    /// var request = try Request.get("https://example.com/login")
    /// request.options.redirectionPolicy = .never
    /// ```
    public var redirectionPolicy: RedirectionPolicy? {
        get { self[RedirectionPolicyKey.self]?.policy }
        set { self[RedirectionPolicyKey.self] = newValue.map { NamedPolicy(policy: $0) } }
    }
}

private enum RedirectionPolicyKey: RequestOptionKey {
    static let defaultValue: NamedPolicy? = nil
    static let travels: OptionTravel = [.all, .comparedWhenShared]
}

/// Two rules cannot be compared, so policies are told apart by their names.
private struct NamedPolicy: Sendable, Equatable {
    let policy: RedirectionPolicy

    static func == (left: NamedPolicy, right: NamedPolicy) -> Bool {
        left.policy.description == right.policy.description
    }
}
