#if os(Linux)
/// The choice of a proxy for each request.
struct CurlProxyChoice: Sendable, CustomStringConvertible {
    /// The proxies, without users and passwords.
    let description: String
    /// All options that a request may have.
    let options: [CurlOptions.Option]
    /// Returns the options for the requests to an origin; none where it is reached without a proxy.
    let choose: @Sendable (Origin) -> [CurlOptions.Option]
}
#endif
