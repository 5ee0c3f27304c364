import Foundation
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
                reason: reason, origin: target, isRedirected: !request.options.redirectingOrigins.isEmpty)
        }
        if target != origin { request.move(from: origin, to: target, by: layer.name) }
        // A redirection that was remembered names the origin before it was rewritten.
        let redirecting = request.options.redirectingOrigins
        if policy.isRewriting, !redirecting.isEmpty {
            request.options.redirectingOrigins = Set(redirecting.map(policy.target))
        }
        return try await base.send(request)
    }
}

extension Request {
    /// Sends the request to another server than the one that it names.
    mutating func move(from origin: Origin, to target: Origin, by layer: String) {
        head.scheme = target.scheme
        head.authority = target.authority
        options.callContext?.note(
            CallDecision(.redirects, by: layer, "sends to \(target) in place of \(origin)"))
    }
}

/// The hosts that requests may reach, and over which scheme: https alone, unless an exception is named.
///
/// ```swift
/// let policy = try HostPolicy.httpsOnly
///     .allowing("api.example.com", "*.cdn.example.com")
///     .blocking("old.cdn.example.com")
/// ```
///
/// A pattern is a host (`example.com`, `127.0.0.1`, `[::1]`), all hosts below one (`*.example.com`, without `example.com`
/// itself), or `*` for every host. Patterns name no port: a host is allowed or blocked with all of its ports. A dot at
/// the end of a host makes no difference. A blocked host stays blocked where it is allowed too.
///
/// Hosts are compared as they are written, except that a blocked address is blocked in each form, as `127.0.0.1` is in
/// `127.1`. No name is looked up. A name that someone else controls may stand for an address of the local network, so name
/// the hosts that are allowed where URLs come from others.
public struct HostPolicy: Sendable, Hashable {
    /// Requests go over https, to any host.
    public static let httpsOnly = HostPolicy()

    private var allowed: Set<HostPattern> = []
    private var blocked: Set<HostPattern> = []
    private var plain: Set<HostPattern> = []
    private var targets: [Origin: Origin] = [:]

    private init() {}

    /// Allows hosts beside the earlier ones; once there is one that is allowed, all others are refused.
    ///
    /// - Throws: ``InvalidRequestError`` for a pattern that no host has.
    public func allowing(_ host: String, _ others: String...) throws(InvalidRequestError) -> HostPolicy {
        var policy = self
        for text in [host] + others { policy.allowed.insert(try HostPattern(text)) }
        return policy
    }

    /// Refuses requests to hosts, beside the earlier ones.
    ///
    /// - Throws: ``InvalidRequestError`` for a pattern that no host has.
    public func blocking(_ host: String, _ others: String...) throws(InvalidRequestError) -> HostPolicy {
        var policy = self
        for text in [host] + others { policy.blocked.insert(try HostPattern(text)) }
        return policy
    }

    /// Lets requests over http pass to hosts, without encryption, such as to a server on this machine.
    ///
    /// ```swift
    /// let policy = try HostPolicy.httpsOnly.allowingPlainHTTP(to: "localhost", "127.0.0.1", "[::1]")
    /// ```
    ///
    /// - Throws: ``InvalidRequestError`` for a pattern that no host has.
    public func allowingPlainHTTP(to host: String, _ others: String...) throws(InvalidRequestError) -> HostPolicy {
        var policy = self
        for text in [host] + others { policy.plain.insert(try HostPattern(text)) }
        return policy
    }

    /// Sends the requests for one origin to another, such as those for a server of production to one of a test.
    ///
    /// ```swift
    /// let policy = try HostPolicy.httpsOnly
    ///     .rewriting(Origin("https://api.example.com"), to: Origin("https://staging.example.com"))
    /// ```
    ///
    /// The new origin is held to the other rules of the policy, and is not rewritten again. The path and the query stay.
    /// Credentials and cookies belong to the new origin, since their layers stand further in. A rule for the same origin is
    /// replaced.
    public func rewriting(_ origin: Origin, to target: Origin) -> HostPolicy {
        var policy = self
        policy.targets[origin] = target
        return policy
    }

    /// Whether requests for some origin are sent to another.
    fileprivate var isRewriting: Bool { !targets.isEmpty }

    /// The origin that requests for an origin are sent to.
    fileprivate func target(of origin: Origin) -> Origin { targets[origin] ?? origin }

    /// The reason to refuse a request that would be sent to an origin; nil if it may be sent.
    func refusal(of target: Origin) -> HostPolicyError.Reason? {
        let host = target.host.droppingLastDot
        let address = Origin.isAddress(host) ? IPAddress(host: host) : nil
        if blocked.contains(where: { $0.matches(host) || address != nil && $0.address == address }) { return .blocked }
        if !allowed.isEmpty, !allowed.contains(where: { $0.matches(host) }) { return .notAllowed }
        if target.scheme != "https", !plain.contains(where: { $0.matches(host) }) { return .notEncrypted }
        return nil
    }
}

extension HostPolicy: CustomStringConvertible {
    /// The rules in words, as in `https only, allowing api.example.com`.
    public var description: String {
        let rules = [("allowing", allowed), ("blocking", blocked), ("plain HTTP to", plain)]
        var words = ["https only"]
        for (verb, patterns) in rules where !patterns.isEmpty {
            words.append("\(verb) \(patterns.map(\.description).sorted().joined(separator: " "))")
        }
        let rewrites = targets.map { "\($0.key) as \($0.value)" }.sorted()
        if !rewrites.isEmpty { words.append("sending \(rewrites.joined(separator: " "))") }
        return words.joined(separator: ", ")
    }
}

/// A host, all hosts below one, or every host.
private struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    private let host: String
    private let coversSubdomains: Bool
    /// The address that the host is; nil for a name.
    let address: IPAddress?

    init(_ text: String) throws(InvalidRequestError) {
        coversSubdomains = text == "*" || text.hasPrefix("*.")
        guard text != "*" else {
            (host, address) = ("", nil)
            return
        }
        let name = coversSubdomains ? String(text.dropFirst(2)) : text
        guard !name.utf8.contains(UInt8(ascii: "*")) else {
            throw InvalidRequestError(
                .invalidHost, "The pattern of a host has its asterisk at the wrong place; write it as in *.example.com."
            )
        }
        host = try Origin(scheme: "https", host: name).host.droppingLastDot
        address = coversSubdomains ? nil : IPAddress(host: host)
    }

    /// Whether a host fits; it is in lower case, without a dot at its end.
    func matches(_ host: String) -> Bool {
        guard coversSubdomains else { return host == self.host }
        return self.host.isEmpty || host.utf8.count > self.host.utf8.count && host.hasSuffix("." + self.host)
    }

    var description: String {
        coversSubdomains ? (host.isEmpty ? "*" : "*." + host) : host
    }
}

extension String {
    /// The host without the dot at its end, which names the same server.
    var droppingLastDot: String {
        utf8.last == UInt8(ascii: ".") ? String(dropLast()) : self
    }
}

/// A request was not sent, because the policy of the stack does not allow its host or its scheme.
public struct HostPolicyError: DescribableError, Hashable {
    /// The reason why a request is refused, as an open set.
    public struct Reason: Sendable, Hashable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// The host is blocked.
        public static let blocked = Reason(name: "blocked")
        /// The policy allows some hosts, and not this one.
        public static let notAllowed = Reason(name: "notAllowed")
        /// The request would go over http, which is not encrypted.
        public static let notEncrypted = Reason(name: "notEncrypted")
    }

    /// The reason.
    public let reason: Reason
    /// The origin that the request would have been sent to.
    public let origin: Origin
    /// Whether a server has named the origin by a redirection.
    public let isRedirected: Bool

    /// The name of the reason.
    public var shortDescription: String { reason.name }

    /// The origin, the reason, and the change that lets the request pass.
    public var description: String {
        let request = isRedirected ? "A redirection leads to \(origin), which" : "The request is for \(origin), which"
        let host = origin.host
        return switch reason {
        case .blocked:
            "\(request) the host policy blocks. Remove the pattern from `blocking` if the host is intended."
        case .notAllowed:
            "\(request) is none of the hosts that the host policy allows. Add \(host) by `allowing` if it is intended."
        default:
            "\(request) is not encrypted. Use https, or name \(host) by `allowingPlainHTTP(to:)`, as for a server on this "
                + "machine."
        }
    }
}
