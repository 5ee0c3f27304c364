#if os(Linux)
import DecorumCurl

/// The options of a proxy in the form that libcurl takes, made once for all transfers of a connection.
struct CurlRelay: Sendable {
    private let url: String
    private let exceptions: String
    private let user: Secret?
    private let password: Secret?
    private let isSecure: Bool

    init(_ proxy: CurlConnection.Proxy) {
        url = proxy.url
        exceptions = proxy.exceptions.joined(separator: ",")
        user = proxy.user
        password = proxy.password
        isSecure = proxy.url.lowercased().hasPrefix("https:")
    }

    func apply(to easy: CurlEasy, _ trust: CurlTrust) {
        easy.set(DECORUM_CURL_OPTION_PROXY, url)
        easy.set(DECORUM_CURL_OPTION_NOPROXY, exceptions)
        if let user { easy.set(DECORUM_CURL_OPTION_PROXYUSERNAME, user.value) }
        if let password { easy.set(DECORUM_CURL_OPTION_PROXYPASSWORD, password.value) }
        if isSecure { trust.applyToProxy(of: easy) }
    }
}
#endif
