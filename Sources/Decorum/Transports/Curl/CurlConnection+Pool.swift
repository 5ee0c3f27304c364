#if os(Linux)
import DecorumCurl

extension CurlConnection {
    /// How many connections to servers there may be, and how long they are kept.
    public struct Pool: Sendable, Hashable {
        /// The largest number of connections to one host at a time; further requests wait.
        ///
        /// The wait does not count towards the idle timeout while bytes of any of the ``CurlConnection``'s exchanges move.
        /// Once all of them stand still for that long, such as behind responses that nobody reads, the request fails
        /// with ``TransportError/Code/timedOut``.
        public let connectionsPerHost: Int
        /// The largest number of connections to all hosts at a time; nil for any number.
        public let connections: Int?
        /// The largest number of connections that are kept while nothing uses them.
        public let idleConnections: Int
        /// How long a connection that nothing uses may still be used again; zero for not at all.
        public let idleLifetime: Duration

        /// Creates limits; a number less than 1 counts as 1, a negative duration as zero.
        ///
        /// - Parameters:
        ///   - connectionsPerHost: The largest number of connections to one host at a time; further requests wait.
        ///   - connections: The largest number of connections to all hosts at a time; nil for any number.
        ///   - idleConnections: The largest number of connections that are kept while nothing uses them.
        ///   - idleLifetime: How long a connection that nothing uses may still be used again, in whole seconds, of which a
        ///     part counts as one; zero for not at all.
        public init(
            connectionsPerHost: Int = 64, connections: Int? = nil, idleConnections: Int = 128,
            idleLifetime: Duration = .seconds(90)
        ) {
            self.connectionsPerHost = max(connectionsPerHost, 1)
            self.connections = connections.map { max($0, 1) }
            self.idleConnections = max(idleConnections, 1)
            self.idleLifetime = max(idleLifetime, .zero)
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
        guard idleLifetime > .zero else { return easy.closeConnection() }
        // Newer versions of libcurl take zero for no limit.
        let (seconds, attoseconds) = idleLifetime.components
        let wholeSeconds = min(seconds, Int64(Int32.max) - 1) + (attoseconds > 0 ? 1 : 0)
        easy.set(DECORUM_CURL_OPTION_MAXAGE_CONN, Int(wholeSeconds))
    }
}
#endif
