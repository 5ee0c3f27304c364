#if !canImport(FoundationNetworking)
public import Foundation
public import Security

extension URLSessionConnection {
    /// How a server is trusted, and what the client shows of itself; on Linux there is no such choice.
    public struct TLS: Sendable {
        /// The lowest version of TLS to agree to.
        public var minimumVersion = tls_protocol_version_t.TLSv12
        /// Tells whether a server is trusted, in place of the system; nil leaves it to the system.
        ///
        /// To pin a certificate, call `SecTrustEvaluateWithError` first, and then compare. It must not wait.
        public var evaluateTrust: (@Sendable (_ trust: SecTrust, _ host: String) -> Bool)?
        /// The certificate and key that the client shows a server that asks for one; nil shows none of its own.
        public var clientCredential: URLCredential?

        /// Creates options that leave everything to the system.
        public init() {}
    }

    /// Creates a connection with a session of its own and its own idea of whom to trust.
    ///
    /// - Parameters:
    ///   - tls: How a server is trusted, and what the client shows of itself.
    ///   - connectionsPerHost: The largest number of connections to one host; less than 1 counts as 1.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say. More than seven days count
    ///     as seven days; with a negative time, sending throws.
    ///   - backlog: How much of a response may wait for a slow reader.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        tls: TLS,
        connectionsPerHost: Int = 6,
        idleTimeout: Duration = .seconds(60),
        backlog: Backlog = Backlog(),
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, backlog: backlog, clock: clock,
            platform: URLSessionPlatform(tls: tls))
    }
}
#endif
