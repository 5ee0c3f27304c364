#if os(Linux)
import DecorumCurl

extension CurlConnection {
    /// The number of connections to servers, and how long unused ones are kept.
    public struct Pool: Sendable, Hashable {
        /// The largest number of connections to one host at a time; further requests wait.
        ///
        /// The connections for streams with ``CurlConnection/Protocols/negotiated`` count apart from the others, for each
        /// of the limits.
        ///
        /// The wait counts towards the idle timeout of each of them: a request that gets no connection within that time
        /// fails with ``TransportError/Code/timedOut``.
        public let connectionsPerHost: Int
        /// The largest number of connections to all hosts at a time; nil for any number.
        public let connections: Int?
        /// The largest number of unused connections that are kept.
        public let idleConnections: Int
        /// How long an unused connection may still be reused; zero for not at all.
        public let idleLifetime: Duration
        /// How long after it was opened a connection may be reused, so that names are resolved again; nil for no limit.
        public let lifetime: Duration?

        /// Creates limits; a number less than 1 counts as 1, a negative duration as zero.
        ///
        /// - Parameters:
        ///   - connectionsPerHost: The largest number of connections to one host at a time; further requests wait.
        ///   - connections: The largest number of connections to all hosts at a time; nil for any number.
        ///   - idleConnections: The largest number of unused connections that are kept.
        ///   - idleLifetime: How long an unused connection may still be reused, rounded up to whole seconds; zero for not
        ///     at all.
        ///   - lifetime: How long after it was opened a connection may be reused, rounded up to whole seconds; nil for no
        ///     limit. A running request is not interrupted, and an HTTP/2 connection is replaced once no request uses it.
        public init(
            connectionsPerHost: Int = 64, connections: Int? = nil, idleConnections: Int = 128,
            idleLifetime: Duration = .seconds(90), lifetime: Duration? = .seconds(300)
        ) {
            self.connectionsPerHost = max(connectionsPerHost, 1)
            self.connections = connections.map { max($0, 1) }
            self.idleConnections = max(idleConnections, 1)
            self.idleLifetime = max(idleLifetime, .zero)
            self.lifetime = lifetime.map { max($0, .zero) }
        }
    }
}

extension CurlConnection.Pool {
    func add(to options: inout CurlOptions) {
        options.connectionsPerHost = min(connectionsPerHost, connections ?? .max)
        options.limits = [
            (DECORUM_CURL_MULTI_MAX_HOST_CONNECTIONS, connectionsPerHost),
            (DECORUM_CURL_MULTI_MAX_TOTAL_CONNECTIONS, connections ?? 0),
            (DECORUM_CURL_MULTI_MAXCONNECTS, idleConnections),
        ]
        // libcurl takes zero for no limit.
        guard idleLifetime > .zero, lifetime.map({ $0 > .zero }) ?? true else {
            options.add(.number(DECORUM_CURL_OPTION_FORBID_REUSE, 1))
            return
        }
        options.add(.number(DECORUM_CURL_OPTION_MAXAGE_CONN, Self.wholeSeconds(idleLifetime)))
        if let lifetime { options.add(.number(DECORUM_CURL_OPTION_MAXLIFETIME_CONN, Self.wholeSeconds(lifetime))) }
    }

    private static func wholeSeconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.bounded.components
        return Int(min(seconds, Int64(Int32.max) - 1)) + (attoseconds > 0 ? 1 : 0)
    }
}
#endif
