import HTTPTypes

extension CassetteRules {
    /// A set of hosts.
    ///
    /// ```swift
    /// var rules = CassetteRules()
    /// rules.passedHosts = ["*.telemetry.example", "localhost"]
    /// ```
    ///
    /// A name means that host alone, with any port. `*.example.com` means every host below `example.com`. Letter case does
    /// not matter.
    public struct Hosts: Sendable, Hashable, ExpressibleByArrayLiteral {
        private var names: Set<String> = []
        private var domains: [String] = []

        /// This machine: `localhost`, `127.0.0.1` and `::1`.
        public static let loopback: Hosts = ["localhost", "*.localhost", "127.0.0.1", "::1"]

        /// Creates a set of the names of hosts, and of domains with `*.` before them.
        public init(_ names: some Sequence<String>) {
            for name in names.lazy.map({ $0.lowercased() }) {
                if name.hasPrefix("*.") { domains.append(String(name.dropFirst())) } else { self.names.insert(name) }
            }
        }

        /// Creates a set of the names of hosts, and of domains with `*.` before them.
        public init(arrayLiteral elements: String...) { self.init(elements) }

        /// Whether the set is empty.
        public var isEmpty: Bool { names.isEmpty && domains.isEmpty }

        /// Whether a host, which is given without a port, or a domain above it is in the set.
        public func contains(_ host: String) -> Bool {
            let host = host.lowercased()
            return names.contains(host) || domains.contains { host.hasSuffix($0) && host.utf8.count > $0.utf8.count }
        }

        /// Whether the host of a request is in the set.
        func contains(_ request: borrowing HTTPRequest) -> Bool {
            guard !isEmpty, let authority = request.authority else { return false }
            return contains(Self.host(of: authority))
        }

        /// The host in an authority (RFC 3986, section 3.2).
        private static func host(of authority: String) -> String {
            let rest = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            if rest.hasPrefix("[") { return String(rest.dropFirst().prefix { $0 != "]" }) }
            return String(rest.prefix { $0 != ":" })
        }
    }
}
