#if os(Linux)
import DecorumCurl
import Foundation

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
        ///
        /// Without TLS, libcurl 7.88 makes a connection for each request, as it cannot use one again; 8.0 can.
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
        /// - Throws: ``InvalidRequestError`` when the host is no name, the port is none, or there is no address or one
        ///   that is none.
        public init(host: String, port: Int, addresses: [String]) throws(InvalidRequestError) {
            guard host.isRouted else { throw .invalidHost }
            guard (1...65_535).contains(port) else {
                throw InvalidRequestError(.invalidPort, "The port of a route is not a number from 1 to 65535.")
            }
            guard !addresses.isEmpty, addresses.allSatisfy(\.isAddress) else {
                throw InvalidRequestError(.invalidHost, "The addresses of a route are IP addresses, at least one.")
            }
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

extension String {
    /// Whether libcurl takes the name for one, and not for a sign, a list or a name with a port.
    fileprivate var isRouted: Bool {
        guard let first = utf8.first, !"+-*".utf8.contains(first) else { return false }
        return utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !":,/[]".utf8.contains($0) }
    }

    /// Whether it is an IP address of either version, with brackets or without.
    var isAddress: Bool {
        var version4 = in_addr()
        var version6 = in6_addr()
        if unsafe inet_pton(AF_INET, self, &version4) == 1 { return true }
        let address = hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
        return unsafe inet_pton(AF_INET6, address, &version6) == 1
    }
}
#endif
