#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient

extension Subject {
    /// The clients on SwiftNIO; what AsyncHTTPClient takes beyond `CurlConnection` is in its own ratios.
    static let asyncHTTPClient: [Subject] =
        [Subject(name: "AsyncHTTPClient", baseline: "CurlConnection") { _ in BareAsyncHTTPClient() }]
        + connections("AsyncHTTPClientConnection", over: "AsyncHTTPClient") {
            AsyncHTTPClientConnection(connectionsPerHost: Exchanging.concurrency)
        }
}
#else
extension Subject {
    /// None without the package trait `AsyncHTTPClient`.
    static let asyncHTTPClient: [Subject] = []
}
#endif
