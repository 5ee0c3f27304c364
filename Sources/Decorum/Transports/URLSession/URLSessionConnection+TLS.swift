#if !canImport(FoundationNetworking)
public import Foundation
public import Security

extension URLSessionConnection {
    /// The rules by which servers are trusted, and the certificate of the client; on Linux there is no such choice.
    public struct TLS: Sendable {
        /// The lowest version of TLS to agree to.
        public var minimumVersion = tls_protocol_version_t.TLSv12
        /// Returns whether a server is trusted; with nil the system decides.
        ///
        /// To pin a certificate, call `SecTrustEvaluateWithError` first, and then compare. The closure must not wait.
        public var evaluateTrust: (@Sendable (_ trust: SecTrust, _ host: String) -> Bool)?
        /// The certificate and key for servers that ask for one; with nil the client sends no certificate.
        public var clientCredential: URLCredential?

        /// Creates options that leave everything to the system.
        public init() {}
    }

    /// Creates a connection with its own session and its own rules for TLS.
    ///
    /// - Parameters:
    ///   - tls: The rules by which servers are trusted, and the certificate of the client.
    ///   - connectionsPerHost: The largest number of connections to one host; less than 1 counts as 1.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise. More than seven days
    ///     count as seven days; with a negative time, sending throws.
    ///   - backlog: The number of bytes of a response that may wait for a slow reader.
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
            platform: URLSessionPlatform(
                minimumVersion: tls.minimumVersion, evaluateTrust: tls.evaluateTrust,
                clientCredential: tls.clientCredential))
    }
}
#endif
