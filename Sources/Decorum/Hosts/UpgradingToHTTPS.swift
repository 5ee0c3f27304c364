import HTTPTypes

extension Connection {
    /// Sends requests over https to the hosts that have asked for it, and remembers the hosts that ask (RFC 6797).
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .upgradingToHTTPS(remembering: hosts)
    ///     .followingRedirects()
    /// ```
    ///
    /// A request over http to a host in `hosts` is sent over https instead: to port 443 in place of 80, and to the same
    /// port otherwise. A host asks by `Strict-Transport-Security` in an answer over https. The layer learns only from
    /// answers of the network, from confirmed answers and from test doubles. It does not learn from a stored
    /// or a recorded answer, or from an answer of another origin than the one that was asked. An address is never
    /// upgraded.
    ///
    /// The rule holds as far as the transport checks certificates. A failure of TLS is thrown as by any other https
    /// request; nothing is sent over http in its place.
    ///
    /// Place it directly inside of ``followingRedirects(upTo:policy:remembering:clock:)``, so that it sees each hop, and
    /// outside of cookies, caches and credentials. An http request that ``restrictingHosts(to:)`` would refuse passes where
    /// that layer stands further in.
    ///
    /// - Parameters:
    ///   - hosts: The hosts that are known, which several stacks may share.
    ///   - clock: The clock by which hosts are forgotten.
    /// - Returns: A connection that upgrades requests.
    public func upgradingToHTTPS(
        remembering hosts: StrictTransportHosts, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        UpgradingConnection(base: self, hosts: hosts, clock: clock)
    }
}

struct UpgradingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let hosts: StrictTransportHosts
    let clock: any DatedClock

    var layer: Layer {
        Layer(
            name: "upgradingToHTTPS", role: .hostPolicy, settings: [.init("remembering", hosts)],
            facts: Layer.facts(of: clock).union([.changesSignedParts]),
            memory: .init(state: [Layer.StateIdentity(hosts)]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if request.head.scheme != "https", let origin = try? Origin(request.head), origin.scheme == "http",
            hosts.contains(origin.host, at: clock.date)
        {
            let target = try origin.overTLS
            request.head.scheme = target.scheme
            request.head.authority = target.authority
            request.options.callContext?.note(
                CallDecision(.redirects, by: "upgradingToHTTPS", "sends to \(target) in place of \(origin)"))
        }
        let head = request.head
        let response = try await base.send(request)
        if response.head.headerFields.has(.strictTransportSecurity) { learn(from: response, to: head) }
        return response
    }

    private func learn(from response: borrowing Response, to head: HTTPRequest) {
        guard response.metadata.source.isServer, let origin = try? Origin(head), origin.scheme == "https",
            response.metadata.url.map({ (try? Origin($0)) == origin }) ?? true,
            let field = StrictTransportField(response.head.headerFields)
        else { return }
        hosts.learn(field, from: origin.host, at: clock.date)
    }
}

extension Origin {
    /// The origin to which requests for an http origin are upgraded (RFC 6797, section 8.3).
    fileprivate var overTLS: Origin {
        get throws(InvalidRequestError) { try Origin(scheme: "https", host: host, port: port == 80 ? 443 : port) }
    }
}

extension ResponseMetadata.Source? {
    /// Whether a server has sent the fields of a response just now, or a test double in place of one.
    package var isServer: Bool { self == .network || self == .revalidated || self == .stub }
}
