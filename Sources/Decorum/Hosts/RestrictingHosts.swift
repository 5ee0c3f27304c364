import HTTPTypes

extension Connection {
    /// Sends requests only to the hosts that a policy allows, the first request of a call as well as each hop.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .restrictingHosts(to: .httpsOnly.allowing("api.example.com"))
    ///     .followingRedirects()
    /// ```
    ///
    /// A request that the policy refuses is not sent, and throws ``HostPolicyError``. A redirection to a host that is
    /// refused ends the call with that error; ``RedirectionPolicy`` returns the redirection instead, but never sees the
    /// first request. A request whose origin the policy rewrites is sent to the new origin; the layers further out keep
    /// the first one.
    ///
    /// Place it directly inside of ``followingRedirects(upTo:policy:remembering:clock:)``, so that it sees each hop, and
    /// outside of cookies, caches and credentials, which then belong to the origin that a request is sent to. In a
    /// ``StandardStack``, it is `.inside(of: .redirects)`.
    ///
    /// - Parameter policy: The hosts, and their schemes.
    /// - Returns: A connection that throws ``HostPolicyError`` for a request that the policy refuses, and
    ///   ``InvalidRequestError`` for one that names no origin.
    public func restrictingHosts(to policy: HostPolicy) -> some Connection {
        HostRestrictingConnection(base: self, policy: policy)
    }
}

struct HostRestrictingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: HostPolicy

    var layer: Layer {
        Layer(
            name: "restrictingHosts", role: .hostPolicy, settings: [.init("to", policy)],
            facts: policy.isRewriting ? [.changesSignedParts] : [])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let origin = try Origin(request.head)
        let target = policy.target(of: origin)
        if let reason = policy.refusal(of: target) {
            throw HostPolicyError(
                reason, origin: target, isRedirected: !request.options.redirectingOrigins.isEmpty)
        }
        if target != origin { request.move(from: origin, to: target, by: policy) }
        return try await base.send(request)
    }
}

extension Request {
    fileprivate mutating func move(from origin: Origin, to target: Origin, by policy: HostPolicy) {
        head.scheme = target.scheme
        head.authority = target.authority
        // The hops before this one were sent to their new origins too, which is where credentials are bound to.
        let redirecting = options.redirectingOrigins
        if !redirecting.isEmpty { options.redirectingOrigins = Set(redirecting.map(policy.target)) }
        options.callContext?.note(
            CallDecision(.redirects, by: "restrictingHosts", "sends to \(target) in place of \(origin)"))
    }
}
