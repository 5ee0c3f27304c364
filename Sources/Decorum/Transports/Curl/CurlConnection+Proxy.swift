#if os(Linux)
extension CurlConnection {
    /// A server that requests go through.
    ///
    /// Of a proxy that is reached over TLS, the certificate has to lead to the roots of ``CurlConnection/TLS`` too, with
    /// no lower version. Pinned keys are those of the servers behind it, and no certificate is shown to it.
    public struct Proxy: Sendable {
        /// The URL of the proxy, as in `http://proxy.example:3128`, `https://…` or `socks5h://…`.
        public let url: String
        /// The hosts that are reached without the proxy; a domain stands for its hosts too.
        public var exceptions: [String]
        let user: Secret?
        let password: Secret?

        /// Creates a proxy.
        ///
        /// - Parameters:
        ///   - url: The URL of the proxy, without a user name: its scheme, which is `http`, `https`, `socks4`, `socks4a`,
        ///     `socks5` or `socks5h`, or `http` where it has none; its host; and its port, or else 1080, and 443 for
        ///     `https`.
        ///   - user: The name that the proxy knows the client by; it is sent with the `Basic` scheme.
        ///   - password: The password.
        ///   - exceptions: The hosts that are reached without the proxy; a domain stands for its hosts too.
        /// - Throws: ``InvalidRequestError`` when the URL holds a user name, has another scheme or no host.
        public init(
            _ url: String, user: String? = nil, password: String? = nil, exceptions: [String] = []
        ) throws(InvalidRequestError) {
            guard !url.contains("@") else {
                throw InvalidRequestError(.userinfo, "The URL of the proxy holds a user name; pass it as user instead.")
            }
            try ProxyAddress.validate(url)
            self.url = url
            self.exceptions = exceptions
            self.user = user.map { Secret(value: $0) }
            self.password = password.map { Secret(value: $0) }
        }
    }
}

/// The parts of a proxy's URL, which libcurl would look at when the first request is sent.
private enum ProxyAddress {
    static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    static func validate(_ url: String) throws(InvalidRequestError) {
        var rest = Substring(url)
        if let end = url.firstRange(of: "://") {
            guard schemes.contains(url[..<end.lowerBound].lowercased()) else {
                throw InvalidRequestError(
                    .unsupportedScheme, "The scheme of the proxy is none of \(schemes.joined(separator: ", ")).")
            }
            rest = url[end.upperBound...]
        }
        if rest.last == "/" { rest.removeLast() }
        let (host, port) = parts(of: rest)
        // What else libcurl refuses, it refuses; these it would take for no proxy, or for a part of the host.
        let isHost = host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/?#\\".utf8.contains($0) }
        guard !host.isEmpty, isHost else {
            throw InvalidRequestError(
                .invalidHost, "The host of the proxy is empty or has characters that no host has.")
        }
        if let port {
            guard let port = UInt16(port), port > 0 else {
                throw InvalidRequestError(.invalidPort, "The port of the proxy is not a number from 1 to 65535.")
            }
        }
    }

    /// The host, without the brackets of an IPv6 address, and the port; nil for none.
    private static func parts(of authority: Substring) -> (host: Substring, port: Substring?) {
        if authority.first == "[", let end = authority.firstIndex(of: "]") {
            let rest = authority[authority.index(after: end)...]
            let host = authority[..<end].dropFirst()
            guard !rest.isEmpty else { return (host, nil) }
            // What is no port behind a bracket is no number either.
            return (host, rest.first == ":" ? rest.dropFirst() : "")
        }
        guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }
}
#endif
