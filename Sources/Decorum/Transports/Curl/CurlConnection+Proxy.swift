#if os(Linux)
import DecorumCurl

extension CurlConnection {
    /// A proxy server through which requests are sent.
    ///
    /// The certificate of a proxy that is reached over TLS must lead to the roots of ``TLSOptions`` too, with no
    /// lower version. Pinned keys belong to the servers behind the proxy, and the proxy is shown no client certificate.
    public struct Proxy: Sendable {
        /// The URL of the proxy, as in `http://proxy.example:3128`, `https://…` or `socks5h://…`.
        public let url: String
        /// The hosts that are reached without the proxy; a domain includes its hosts.
        public var exceptions: [String]
        let user: Secret<String>?
        let password: Secret<String>?

        /// Creates a proxy.
        ///
        /// - Parameters:
        ///   - url: The URL of the proxy, without a user name. Its scheme is `http`, `https`, `socks4`, `socks4a`,
        ///     `socks5` or `socks5h`, by default `http`. Its port is by default 443 for `https` and 1080 for the others.
        ///   - user: The user name for the proxy; it is sent with the `Basic` scheme.
        ///   - password: The password for the proxy.
        ///   - exceptions: The hosts that are reached without the proxy; a domain includes its hosts.
        /// - Throws: ``InvalidRequestError`` when the URL has a user name, another scheme, an invalid port or no valid
        ///   host.
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

extension CurlConnection.Proxy {
    /// The options of the proxy, and those of TLS where the proxy is reached over it.
    func options(_ tls: TLSOptions) -> [CurlOptions.Option] {
        var options: [CurlOptions.Option] = [
            .text(DECORUM_CURL_OPTION_PROXY, url),
            // Without this, libcurl would take the exceptions from the environment.
            .text(DECORUM_CURL_OPTION_NOPROXY, exceptions.joined(separator: ",")),
        ]
        if let user { options.append(.secret(DECORUM_CURL_OPTION_PROXYUSERNAME, user)) }
        if let password { options.append(.secret(DECORUM_CURL_OPTION_PROXYPASSWORD, password)) }
        if url.lowercased().hasPrefix("https:") { options += tls.proxyOptions }
        return options
    }
}

/// The parts of a proxy's URL, which libcurl itself would check only when the first request is sent.
private enum ProxyAddress {
    static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    static func validate(_ url: String) throws(InvalidRequestError) {
        var rest = Substring(url)
        if let end = url.firstRange(of: "://") {
            guard schemes.contains(url[..<end.lowerBound].lowercased()) else {
                throw InvalidRequestError(
                    .unsupportedScheme, "The scheme of the proxy must be one of \(schemes.joined(separator: ", ")).")
            }
            rest = url[end.upperBound...]
        }
        if rest.last == "/" { rest.removeLast() }
        let (host, port) = parts(of: rest)
        // libcurl refuses other characters by itself; these it would accept, and use no proxy or another host.
        let isHost = host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/?#\\".utf8.contains($0) }
        guard !host.isEmpty, isHost else {
            throw InvalidRequestError(
                .invalidHost, "The host of the proxy is empty or has characters that are not allowed in a host.")
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
            // Only a port may follow the bracket; an empty port is refused as not a number.
            return (host, rest.first == ":" ? rest.dropFirst() : "")
        }
        guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }
}
#endif
