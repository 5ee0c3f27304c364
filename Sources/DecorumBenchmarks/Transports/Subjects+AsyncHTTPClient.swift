#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient

extension Subject {
    /// The clients on SwiftNIO; the ratios of AsyncHTTPClient compare it with `CurlConnection`.
    static let asyncHTTPClient: [Subject] =
        [Subject(name: "AsyncHTTPClient", baseline: "CurlConnection") { _ in BareAsyncHTTPClient() }]
        + connections("AsyncHTTPClientConnection", over: "AsyncHTTPClient") {
            AsyncHTTPClientConnection(connectionsPerHost: Exchanging.connections)
        }
}
#else
extension Subject {
    /// Empty without the package trait `AsyncHTTPClient`.
    static let asyncHTTPClient: [Subject] = []
}
#endif
