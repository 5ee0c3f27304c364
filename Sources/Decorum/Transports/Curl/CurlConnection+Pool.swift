#if os(Linux)
import DecorumCurl

extension CurlConnection {
    /// How many connections to servers there may be, and how long they are kept.
    public struct Pool: Sendable, Hashable {
        /// The largest number of connections to one host at a time; further requests wait.
        ///
        /// The wait counts towards the idle timeout of each of them: a request that gets no connection within that time
        /// fails with ``TransportError/Code/timedOut``.
        public let connectionsPerHost: Int
        /// The largest number of connections to all hosts at a time; nil for any number.
        public let connections: Int?
        /// The largest number of connections that are kept while nothing uses them.
        public let idleConnections: Int
        /// How long a connection that nothing uses may still be used again; zero for not at all.
        public let idleLifetime: Duration
        /// How long after it was made a connection may be used again, so that names are resolved anew; nil for ever.
        public let lifetime: Duration?

        /// Creates limits; a number less than 1 counts as 1, a negative duration as zero.
        ///
        /// - Parameters:
        ///   - connectionsPerHost: The largest number of connections to one host at a time; further requests wait.
        ///   - connections: The largest number of connections to all hosts at a time; nil for any number.
        ///   - idleConnections: The largest number of connections that are kept while nothing uses them.
        ///   - idleLifetime: How long a connection that nothing uses may still be used again, in whole seconds, of which a
        ///     part counts as one; zero for not at all.
        ///   - lifetime: How long after it was made a connection may be used again, in whole seconds, of which a part counts
        ///     as one; nil for ever. A request that is under way is not cut off, and a connection of HTTP/2 is replaced once
        ///     no request is under way on it.
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
    func apply(to inbox: CurlInbox) {
        set(DECORUM_CURL_MULTI_MAX_HOST_CONNECTIONS, connectionsPerHost, of: inbox)
        set(DECORUM_CURL_MULTI_MAX_TOTAL_CONNECTIONS, connections ?? 0, of: inbox)
        set(DECORUM_CURL_MULTI_MAXCONNECTS, idleConnections, of: inbox)
    }

    private func set(_ option: decorum_curl_multi_option, _ value: Int, of inbox: CurlInbox) {
        let value = min(value, Int(Int32.max))
        _ = unsafe decorum_curl_multi_set_number(inbox.library.functions, inbox.multi, option, value)
    }

    func apply(to easy: CurlEasy) {
        // libcurl takes zero for no limit.
        guard idleLifetime > .zero, lifetime.map({ $0 > .zero }) ?? true else { return easy.closeConnection() }
        easy.set(DECORUM_CURL_OPTION_MAXAGE_CONN, Self.wholeSeconds(idleLifetime))
        if let lifetime { easy.set(DECORUM_CURL_OPTION_MAXLIFETIME_CONN, Self.wholeSeconds(lifetime)) }
    }

    private static func wholeSeconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        return Int(min(seconds, Int64(Int32.max) - 1)) + (attoseconds > 0 ? 1 : 0)
    }
}
#endif
