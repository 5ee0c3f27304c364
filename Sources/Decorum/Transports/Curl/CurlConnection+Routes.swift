#if os(Linux)
import DecorumCurl

extension CurlConnection {
    /// The versions of HTTP that are offered to a server.
    public struct Protocols: Sendable, Hashable, CustomStringConvertible {
        /// What is offered, in words.
        public let description: String
        let number: Int32

        /// HTTP/2 where the server agrees to it within TLS, else HTTP/1.1.
        public static let negotiated = Protocols(
            description: "negotiated", number: Int32(DECORUM_CURL_HTTP_VERSION_2TLS))
        /// HTTP/1.1 alone.
        public static let http1 = Protocols(description: "HTTP/1.1", number: Int32(DECORUM_CURL_HTTP_VERSION_1_1))
        /// HTTP/2 alone, also without TLS, for servers that are known to speak it.
        public static let http2 = Protocols(
            description: "HTTP/2", number: Int32(DECORUM_CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
    }

    /// The addresses that a host is reached at, in place of those that its name has.
    public struct Route: Sendable, Hashable {
        /// The host, as it stands in requests.
        public let host: String
        /// The port, as it stands in requests or follows from their scheme.
        public let port: Int
        /// The IP addresses to try.
        public let addresses: [String]

        /// Creates a route.
        ///
        /// - Parameters:
        ///   - host: The host, as it stands in requests.
        ///   - port: The port, as it stands in requests or follows from their scheme.
        ///   - addresses: The IP addresses to try; one of version 6 needs no brackets.
        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }
}

extension CurlConnection.Route {
    /// The route as libcurl takes it.
    var line: String {
        let addresses = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
        return "\(host):\(port):\(addresses.joined(separator: ","))"
    }
}
#endif
