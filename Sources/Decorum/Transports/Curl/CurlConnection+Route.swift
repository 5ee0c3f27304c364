#if os(Linux)
import Foundation

extension CurlConnection {
    /// The addresses to connect to for a host, in place of those that a name lookup would give.
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
        ///   - addresses: The IP addresses to try; an IPv6 address needs no brackets.
        /// - Throws: ``InvalidRequestError`` when the host is not a host name, the port is not from 1 to 65535, there is
        ///   no address, or one of them is not an IP address.
        public init(host: String, port: Int, addresses: [String]) throws(InvalidRequestError) {
            guard host.isRouted else { throw .invalidHost }
            guard (1...65_535).contains(port) else {
                throw InvalidRequestError(.invalidPort, "The port of a route is not a number from 1 to 65535.")
            }
            guard !addresses.isEmpty, addresses.allSatisfy(\.isAddress) else {
                throw InvalidRequestError(
                    .invalidHost, "A route needs at least one address, and each must be an IP address.")
            }
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }
}

extension CurlConnection.Route {
    /// The route in the form that libcurl takes.
    var line: String {
        let addresses = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
        return "\(host):\(port):\(addresses.joined(separator: ","))"
    }
}

extension String {
    /// Whether libcurl takes the text for a host, and not for a command, a list or a host with a port.
    fileprivate var isRouted: Bool {
        guard let first = utf8.first, !"+-*".utf8.contains(first) else { return false }
        return utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !":,/[]".utf8.contains($0) }
    }

    /// Whether the text is an IP address of either version, with brackets or without.
    fileprivate var isAddress: Bool { IPAddress(self) != nil }
}
#endif
