#if os(Linux)
import DecorumCurl

extension CurlConnection {
    /// A server that requests go through.
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
        ///   - url: The URL of the proxy, without a user name.
        ///   - user: The name that the proxy knows the client by; it is sent with the `Basic` scheme.
        ///   - password: The password.
        ///   - exceptions: The hosts that are reached without the proxy; a domain stands for its hosts too.
        /// - Throws: ``InvalidRequestError`` when the URL holds a user name.
        public init(
            _ url: String, user: String? = nil, password: String? = nil, exceptions: [String] = []
        ) throws(InvalidRequestError) {
            guard !url.contains("@") else {
                throw InvalidRequestError(.userinfo, "The URL of the proxy holds a user name; pass it as user instead.")
            }
            self.url = url
            self.exceptions = exceptions
            self.user = user.map { Secret(value: $0) }
            self.password = password.map { Secret(value: $0) }
        }
    }
}

extension CurlConnection.Proxy {
    func apply(to easy: CurlEasy) {
        easy.set(DECORUM_CURL_OPTION_PROXY, url)
        easy.set(DECORUM_CURL_OPTION_NOPROXY, exceptions.joined(separator: ","))
        if let user { easy.set(DECORUM_CURL_OPTION_PROXYUSERNAME, user.value) }
        if let password { easy.set(DECORUM_CURL_OPTION_PROXYPASSWORD, password.value) }
    }
}
#endif
