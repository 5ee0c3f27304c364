#if os(Linux)
/// The address of a proxy, without a user name and a password.
struct CurlProxyAddress: Sendable, Hashable, CustomStringConvertible {
    /// The host and the port.
    let description: String
    /// Whether the proxy is reached over TLS.
    let isSecure: Bool

    /// Takes the address from the URL of a proxy, whose scheme is by default `http`.
    init(_ url: String) {
        let end = url.firstRange(of: "://")
        let scheme = end.map { url[..<$0.lowerBound].lowercased() } ?? "http"
        isSecure = scheme == "https"
        var authority = end.map { url[$0.upperBound...] } ?? Substring(url)
        authority = authority.prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        let afterHost = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        let port = afterHost.contains(":") ? "" : isSecure ? ":443" : ":1080"
        description = authority + port
    }
}
#endif
